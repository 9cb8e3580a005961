// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package broadcast

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns/request"
)

// Asker sends one message to every member; *request.Engine is one.
type Asker interface {
	AskAll(ctx context.Context, a request.All, each request.EachFunc) (request.Tally, error)
}

var _ Asker = (*request.Engine)(nil)

// Config is what New needs.
type Config struct {
	// Requests carries broadcasts. Required.
	Requests Asker
}

func (c Config) validate() error {
	if c.Requests == nil {
		return errors.New("broadcast: Config needs Requests")
	}
	return nil
}

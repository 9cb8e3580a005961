// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns/request"
)

// Asker sends one message to one member; *request.Engine is one.
type Asker interface {
	Ask(ctx context.Context, a request.Ask) (request.Answer, error)
}

var _ Asker = (*request.Engine)(nil)

// Config is what New needs.
type Config struct {
	// Requests carries pushes. Required.
	Requests Asker
}

func (c Config) validate() error {
	if c.Requests == nil {
		return errors.New("push: Config needs Requests")
	}
	return nil
}

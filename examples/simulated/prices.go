// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke"
)

// Prices is the service under test: it takes its time, and knows every price.
type Prices struct {
	Asked atomic.Int64 // requests so far
}

// ServeRequest implements arke.Handler. It is the code that runs in
// production; nothing in it knows of the simulation.
func (p *Prices) ServeRequest(_ context.Context, r *arke.Request) (arke.Message, error) {
	p.Asked.Add(1)
	time.Sleep(3 * time.Millisecond)
	if len(r.Body) == 0 {
		return arke.Message{}, &arke.RemoteError{Code: 400, Message: "the price of what?"}
	}
	return arke.Message{Body: fmt.Appendf(nil, "%s costs %d", r.Body, 10*len(r.Body))}, nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"

	"github.com/arke-mesh/arke/internal/gate"
)

// life is that of a client, from its Hello until nothing is left of its session.
type life struct {
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	gone   chan struct{} // closed when nothing is left of the session
	gate   gate.Gate     // of what runs for the client
}

func newLife(parent context.Context) *life {
	l := &life{gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(parent)
	return l
}

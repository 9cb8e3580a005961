// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/play"
)

// participant is one life of a node.
type participant struct {
	*node.Node
	clock overlay.Clock
}

var _ play.Participant = (*participant)(nil)

// Now implements play.Participant.
func (p *participant) Now() time.Time { return p.clock.Now() }

// Within implements play.Participant: its timer has a place in the trace.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(context.Background(), p.clock, "world.within", d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.Self().String() }

// Status implements play.Participant.
func (p *participant) Status(context.Context) (node.Status, error) { return p.Node.Status(), nil }

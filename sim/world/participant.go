// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/play"
)

// participant is one life of a node.
type participant struct {
	*node.Node
	seam overlay.Seam
	desk *desk // nil = no program attaches to it
}

var _ play.Participant = (*participant)(nil)

// Now implements play.Participant.
func (p *participant) Now() time.Time { return p.seam.Clock.Now() }

// Within implements play.Participant: its timer has a place in the trace.
func (p *participant) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return overlay.WithTimeout(context.Background(), p.seam.Clock, "world.within", d)
}

// Peer implements play.Participant.
func (p *participant) Peer() string { return p.Self().String() }

// Status implements play.Participant.
func (p *participant) Status(context.Context) (node.Status, error) { return p.Node.Status(), nil }

// Shutdown implements patterns.Messenger: the relay drains, then the node.
func (p *participant) Shutdown(ctx context.Context) error {
	var err error
	if p.desk != nil {
		err = p.desk.Shutdown(ctx)
	}
	return errors.Join(err, p.Node.Shutdown(ctx))
}

// Close implements patterns.Messenger.
func (p *participant) Close() error {
	var err error
	if p.desk != nil {
		err = p.desk.Close()
	}
	return errors.Join(err, p.Node.Close())
}

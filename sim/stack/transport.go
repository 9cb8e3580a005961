// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// transport is a host for a node whose clock may be wrong: deadlines of streams
// are times of the node's clock, and libp2p, which in production has the same
// one, lives by the bubble's.
type transport struct {
	*p2p.Host
	clock *clock
}

var _ overlay.Transport = (*transport)(nil)

// Start implements overlay.Transport.
func (t *transport) Start(h overlay.TransportHandler) error {
	return t.Host.Start(&handler{TransportHandler: h, clock: t.clock})
}

// Open implements overlay.Transport.
func (t *transport) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	s, err := t.Host.Open(ctx, p, addrs)
	if err != nil {
		return nil, err
	}
	return &clocked{Stream: s, clock: t.clock}, nil
}

type handler struct {
	overlay.TransportHandler
	clock *clock
}

// HandleStream implements overlay.TransportHandler.
func (h *handler) HandleStream(s overlay.Stream) {
	h.TransportHandler.HandleStream(&clocked{Stream: s, clock: h.clock})
}

// clocked is a stream whose deadlines are times of a node's clock.
type clocked struct {
	overlay.Stream
	clock *clock
}

// SetReadDeadline implements overlay.Stream.
func (c *clocked) SetReadDeadline(t time.Time) error {
	return c.Stream.SetReadDeadline(c.clock.instant(t))
}

// SetWriteDeadline implements overlay.Stream.
func (c *clocked) SetWriteDeadline(t time.Time) error {
	return c.Stream.SetWriteDeadline(c.clock.instant(t))
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// transport is the node's, with a line in the place of each stream.
type transport struct {
	overlay.Transport
	a *Adversary
}

// Start implements overlay.Transport.
func (t *transport) Start(h overlay.TransportHandler) error {
	return t.Transport.Start(&handler{h, t.a})
}

// Open implements overlay.Transport.
func (t *transport) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	s, err := t.Transport.Open(ctx, p, addrs)
	if err != nil {
		return nil, err
	}
	return newLine(t.a, s), nil
}

// Close implements overlay.Transport.
func (t *transport) Close() error {
	t.a.close()
	return t.Transport.Close()
}

type handler struct {
	overlay.TransportHandler
	a *Adversary
}

// HandleStream implements overlay.TransportHandler.
func (h *handler) HandleStream(s overlay.Stream) { h.TransportHandler.HandleStream(newLine(h.a, s)) }

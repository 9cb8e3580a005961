// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// FromOverlay makes o a Network.
func FromOverlay(o *overlay.Overlay) Network { return overlayNetwork{o} }

type overlayNetwork struct{ o *overlay.Overlay }

func (n overlayNetwork) Self() peer.ID      { return n.o.Self() }
func (n overlayNetwork) Addrs() []string    { return n.o.Addrs() }
func (n overlayNetwork) Seam() overlay.Seam { return n.o.Seam() }
func (n overlayNetwork) Size() int          { return n.o.Router().Size() }
func (n overlayNetwork) OnChange(f func())  { n.o.Router().OnChange(f) }

func (n overlayNetwork) Handle(k wire.Kind, h func(from peer.ID, body []byte)) {
	n.o.Handle(k, func(l *overlay.Link, body []byte) { h(l.Peer(), body) })
}

func (n overlayNetwork) Subscribe(f func(PeerEvent)) {
	n.o.Subscribe(func(e overlay.PeerEvent) {
		f(PeerEvent{Type: PeerEventType(e.Type), Peer: e.Peer, Session: e.Session})
	})
}

func (n overlayNetwork) Send(to peer.ID, k wire.Kind, body []byte) (uint64, error) {
	r, err := n.o.Link(to).Send(overlay.LaneCtl, k, body)
	return r.Session, err
}

func (n overlayNetwork) Open(to peer.ID, addrs []string) { n.o.Link(to).Open(addrs) }

func (n overlayNetwork) Hold(p peer.ID) (release func()) { return n.o.Link(p).Hold() }

func (n overlayNetwork) Nearest(key overlay.Key, k int) []peer.ID {
	return n.o.Router().Nearest(key, k)
}

func (n overlayNetwork) Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error) {
	return n.o.Router().Closest(ctx, key, k)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// Network is what this package needs of the overlay; FromOverlay makes one of
// an *overlay.Overlay. Methods may be called concurrently; Handle, Subscribe
// and OnChange only before Start.
type Network interface {
	// Self is the local node, Addrs where others reach it.
	Self() peer.ID
	Addrs() []string
	// Seam gives the clock, the random streams and the Exec.
	Seam() overlay.Seam

	// Handle has h called for each frame of kind k, on the goroutine that
	// reads the link. h owns body and must not block.
	Handle(k wire.Kind, h func(from peer.ID, body []byte))
	// Subscribe has f called for each change of a link; f must not block. No
	// frame is handled before its link's PeerUp or after its PeerDown.
	Subscribe(f func(PeerEvent))
	// Send puts one frame on lane ctl and never blocks; body is copied. It
	// returns the session the frame belongs to.
	Send(to peer.ID, k wire.Kind, body []byte) (session uint64, err error)
	// Open begins to establish the link; the result is a PeerEvent.
	Open(to peer.ID, addrs []string)
	// Hold keeps heartbeats running until release is called.
	Hold(p peer.ID) (release func())
	// Need keeps the link to p, if it is up, from being ended as one that neither
	// side needs.
	Need(p peer.ID) (release func())

	// Behind says that this process has stood still, and that p, whose link is up, has not
	// answered since. It must not block.
	Behind(p peer.ID) bool

	// Nearest answers without I/O, Closest asks the network; both count the
	// local node.
	Nearest(key overlay.Key, k int) []peer.ID
	Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error)
	// OnChange has f called after the set of known peers has changed; f must
	// not block.
	OnChange(f func())
	// LongestTrip is the longest of the round trips to linked peers; all is false while one
	// was not measured yet. It must not block.
	LongestTrip() (longest time.Duration, all bool)
}

// PeerEvent is a change of one link.
type PeerEvent struct {
	Type    PeerEventType
	Peer    peer.ID
	Session uint64 // the new one for PeerUp
	Addr    string // multiaddr that the connection shows, with PeerUp and PeerRecovered
}

// PeerEventType says what happened to a link.
type PeerEventType uint8

// The events of a link, with the numbers of overlay.PeerEventType.
const (
	PeerUp         = PeerEventType(overlay.LinkUp)        // established, with a new session
	PeerDown       = PeerEventType(overlay.LinkDown)      // its session ended; what was held for it is void
	PeerSuspect    = PeerEventType(overlay.LinkSuspect)   // misses heartbeats
	PeerRecovered  = PeerEventType(overlay.LinkRecovered) // heard of again
	PeerDialFailed = PeerEventType(overlay.DialFailed)    // could not be established
)

// FromOverlay makes o a Network.
func FromOverlay(o *overlay.Overlay) Network { return overlayNetwork{overlay.TripsOf(o), o} }

type overlayNetwork struct {
	overlay.Trips
	o *overlay.Overlay
}

func (n overlayNetwork) Self() peer.ID      { return n.o.Self() }
func (n overlayNetwork) Addrs() []string    { return n.o.Addrs() }
func (n overlayNetwork) Seam() overlay.Seam { return n.o.Seam() }
func (n overlayNetwork) OnChange(f func())  { n.o.Router().OnChange(f) }

func (n overlayNetwork) Handle(k wire.Kind, h func(from peer.ID, body []byte)) {
	n.o.Handle(k, func(l *overlay.Link, body []byte) { h(l.Peer(), body) })
}

func (n overlayNetwork) Subscribe(f func(PeerEvent)) {
	n.o.Subscribe(func(e overlay.PeerEvent) {
		f(PeerEvent{Type: PeerEventType(e.Type), Peer: e.Peer, Session: e.Session, Addr: e.Addr})
	})
}

func (n overlayNetwork) Send(to peer.ID, k wire.Kind, body []byte) (uint64, error) {
	r, err := n.o.Link(to).Send(overlay.LaneCtl, k, body)
	return r.Session, err
}

func (n overlayNetwork) Open(to peer.ID, addrs []string) { n.o.Link(to).Open(addrs) }

func (n overlayNetwork) Hold(p peer.ID) (release func()) { return n.o.Link(p).Hold() }

func (n overlayNetwork) Need(p peer.ID) (release func()) { return n.o.Link(p).Need() }

func (n overlayNetwork) Behind(p peer.ID) bool { return n.o.Link(p).Behind() }

func (n overlayNetwork) Nearest(key overlay.Key, k int) []peer.ID {
	return n.o.Router().Nearest(key, k)
}

func (n overlayNetwork) Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error) {
	return n.o.Router().Closest(ctx, key, k)
}

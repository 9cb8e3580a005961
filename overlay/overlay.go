// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// FrameHandler handles one frame or reassembled message of link l. It runs on
// the goroutine that reads the link, in the order of arrival, and must not
// block for long: nothing else is read from the peer meanwhile. It owns body.
type FrameHandler func(l *Link, body []byte)

// Overlay is this node's place in the network: its links to other nodes and
// the search for them. All methods may be called concurrently.
type Overlay struct{ cfg Config }

// New checks cfg and prepares an overlay. It starts nothing.
func New(cfg Config) (*Overlay, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Overlay{cfg: cfg}, nil
}

// Start begins to accept links and to look for peers. ctx bounds only Start
// itself. The overlay takes the transport over: Close closes it.
func (o *Overlay) Start(ctx context.Context) error { panic("not yet") }

// Shutdown ends all links politely: what is queued is sent, then a goodbye,
// and the peer's answer is waited for, at most until ctx ends. Then it
// closes.
func (o *Overlay) Shutdown(ctx context.Context) error { panic("not yet") }

// Close ends everything at once and waits for all goroutines. It may be
// called more than once.
func (o *Overlay) Close() error { panic("not yet") }

// Self is this node's peer id.
func (o *Overlay) Self() peer.ID { return o.cfg.Seam.Transport.Self() }

// Addrs lists the multiaddrs others can reach this node at. The caller owns
// the slice.
func (o *Overlay) Addrs() []string { return o.cfg.Seam.Transport.Addrs() }

// Router knows who is close to a key.
func (o *Overlay) Router() Router { return o.cfg.Seam.Router }

// Seam returns what the overlay was built on.
func (o *Overlay) Seam() Seam { return o.cfg.Seam }

// AddCandidate names a node that might be reached. It never blocks.
func (o *Overlay) AddCandidate(c Candidate) {}

// Handle sets the handler for frames of kind k. Only before Start.
func (o *Overlay) Handle(k wire.Kind, h FrameHandler) {}

// Subscribe has f called for each event of each link. f must not block and
// must not wait for another event of the same link. Only before Start.
func (o *Overlay) Subscribe(f func(PeerEvent)) {}

// Link returns the link to p. It never returns nil and does not dial.
func (o *Overlay) Link(p peer.ID) *Link { return &Link{} }

// Links describes all links that are up or being opened, by peer id.
func (o *Overlay) Links() []LinkStatus { return nil }

// Drops counts what was dropped, by reason; reasons that never occurred are
// left out.
func (o *Overlay) Drops() map[string]uint64 { return nil }

// LinkTime expresses t on this node's link clock: nanoseconds since the
// overlay was made, at least 1. It is what goes on the wire.
func (o *Overlay) LinkTime(t time.Time) uint64 { return 1 }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// Links is what this package needs of the overlay; FromOverlay makes one.
// Methods may be called concurrently, Handle and Subscribe only before the
// overlay starts. The contracts are those of *overlay.Overlay.
type Links interface {
	Self() peer.ID
	Link(p peer.ID) Link
	// Handle has h called with frames, whose body is h's if it says so.
	Handle(k wire.Kind, h func(l Link, body []byte) (kept bool))
	Subscribe(f func(overlay.PeerEvent))
	// LongestTrip is described at overlay.LongestTrip.
	LongestTrip() (longest time.Duration, all bool)
}

// Link is one link; *overlay.Link is one.
type Link interface {
	Peer() peer.ID
	Session() uint64
	Suspect() bool
	Open(addrs []string)
	Hold() (release func())
	Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error)
	Extend(r overlay.Receipt, parts ...[]byte) bool
	HasRoom(lane overlay.Lane, n int) bool
	WaitRoom(ctx context.Context, lane overlay.Lane, n int) (done func(), err error)
}

// Directory registers and watches; FromClusters makes one. Methods may be
// called concurrently. The contracts are those of *cluster.Clusters.
type Directory interface {
	Register(ctx context.Context, name string, r cluster.Registration) error
	Unregister(name string, m cluster.MemberID)
	Watch(name string) Watch
	// Live says whether the member is usable, as far as is known.
	Live(m *cluster.Member) bool
}

// Watch is an interest in one cluster; *cluster.Watch is one.
type Watch interface {
	View() *cluster.View
	Wait(ctx context.Context, needMember bool) (*cluster.View, error)
	Next(ctx context.Context, old *cluster.View) (*cluster.View, error)
	Release()
}

var (
	_ Link  = (*overlay.Link)(nil)
	_ Watch = (*cluster.Watch)(nil)
)

// links makes an overlay Links: it only turns concrete types into interfaces.
type links struct {
	*overlay.Overlay
	overlay.Trips
}

// FromOverlay returns o as this package sees it.
func FromOverlay(o *overlay.Overlay) Links { return links{o, overlay.TripsOf(o)} }

func (l links) Link(p peer.ID) Link { return l.Overlay.Link(p) }

func (l links) Handle(k wire.Kind, h func(Link, []byte) bool) {
	l.Overlay.HandleLent(k, func(from *overlay.Link, body []byte) bool { return h(from, body) })
}

// directory makes clusters a Directory, likewise.
type directory struct{ *cluster.Clusters }

// FromClusters returns c as this package sees it.
func FromClusters(c *cluster.Clusters) Directory { return directory{c} }

func (d directory) Watch(name string) Watch { return d.Clusters.Watch(name) }

func (d directory) Live(m *cluster.Member) bool { return m.State() == "live" }

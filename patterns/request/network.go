// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// Links is what this package needs of the overlay; FromOverlay makes one.
// Methods may be called concurrently, those that take a function only before the
// overlay starts. The contracts are those of *overlay.Overlay.
type Links interface {
	Self() peer.ID
	Link(p peer.ID) Link
	LinkTime(t time.Time) uint64
	Handle(k wire.Kind, h func(l Link, body []byte))
	HandleLent(k wire.Kind, h func(l Link, body []byte) (kept bool))
	Subscribe(f func(overlay.PeerEvent))
}

// Link is one link; *overlay.Link is one.
type Link interface {
	Peer() peer.ID
	Session() uint64
	Suspect() bool
	Open(addrs []string)
	Hold() (release func())
	Send(lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error)
	SendWait(ctx context.Context, lane overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error)
	SendLater(lane overlay.Lane, k wire.Kind, sent func(r overlay.Receipt, err error), parts ...[]byte) (withdraw func() bool, err error)
	Withdraw(r overlay.Receipt) bool
	Last(f func()) bool
	LocalTime(remote uint64) time.Time
}

// Directory knows the members of clusters; FromClusters makes one. Methods may
// be called concurrently. The contracts are those of *cluster.Clusters.
type Directory interface {
	Watch(name string) Watch
	Pick(v *cluster.View, p cluster.PickRequest) *cluster.Member
	// Begin and Done enclose one attempt.
	Begin(m *cluster.Member)
	Done(m *cluster.Member, r cluster.Result)
	// State is the word for how usable the member is.
	State(m *cluster.Member) string
}

// Watch is an interest in one cluster; *cluster.Watch is one.
type Watch interface {
	View() *cluster.View
	Wait(ctx context.Context, needMember bool) (*cluster.View, error)
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

func (l links) Handle(k wire.Kind, h func(Link, []byte)) {
	l.Overlay.Handle(k, func(from *overlay.Link, body []byte) { h(from, body) })
}

func (l links) HandleLent(k wire.Kind, h func(Link, []byte) bool) {
	l.Overlay.HandleLent(k, func(from *overlay.Link, body []byte) bool { return h(from, body) })
}

// directory makes clusters a Directory, likewise.
type directory struct{ *cluster.Clusters }

// FromClusters returns c as this package sees it.
func FromClusters(c *cluster.Clusters) Directory { return directory{c} }

func (d directory) Watch(name string) Watch { return d.Clusters.Watch(name) }

func (d directory) Begin(m *cluster.Member) { m.Begin() }

func (d directory) State(m *cluster.Member) string { return m.State() }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

var (
	_ Link  = (*overlay.Link)(nil)
	_ Watch = (*cluster.Watch)(nil)
)

// links makes an overlay Links: it only turns concrete types into interfaces.
type links struct{ *overlay.Overlay }

// FromOverlay returns o as this package sees it.
func FromOverlay(o *overlay.Overlay) Links { return links{o} }

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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// In an issued network a key of the network is not enough. Who gets through TLS and has
// no certificate that lets it in may open a link, on which it is told so, and nothing
// else: no stream of libp2p's is opened to it, or taken from it. So identify does not
// run, and kad-dht, which learns from identify who answers, never has it in its table.
// The certificate came in the TLS handshake, so nobody waits for the verdict.

// uncertifiedTime is how long a connection may last on which nothing but a link may be
// opened, while there is none.
const uncertifiedTime = 10 * time.Second

// examine asks whether the peer takes part in routing.
func (c *muxedConn) examine() bool {
	routing := c.upgrader.routes(c.secure.remote, c.secure.shown.certificate)
	c.routing.Store(routing)
	return routing
}

// OpenStream implements network.MuxedConn.
func (c *muxedConn) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	if !c.routing.Load() {
		return nil, errNoRoute
	}
	return c.Conn.OpenStream(ctx)
}

// examiner looks after the connections of peers that may have no certificate.
type examiner struct{ *assembly }

// examineNew asks about a connection that has just come to stand: what counts may have
// changed during its handshake. It must not block.
func (x examiner) examineNew(c network.Conn) (routing bool) {
	var ours *muxedConn
	if !c.As(&ours) {
		return false
	}
	if ours.examine() {
		return true
	}
	x.watch(connection{c, ours})
	return false
}

// watch closes a connection of which there is no use; or one whose peer takes part in
// routing after all: identify has been tried on it, and is not again.
func (x examiner) watch(c connection) {
	c.ours.watching.Store(time.AfterFunc(x.owner.uncertified, func() {
		switch {
		case c.ours.Conn.IsClosed():
		case c.ours.examine() || !x.carrying.any(c.ours.secure.remote):
			x.endUncertified(c)
		default:
			x.watch(c)
		}
	}))
}

func (x examiner) endUncertified(c connection) {
	x.owner.counters.add(countUncertified)
	_ = c.Close()
}

// review has handshakes show the node's certificate as it is now, and asks anew about all
// connections: those whose peers take no part in routing any more, or do now, are
// closed, unless they carry a link, which overlay looks after. The next one begins with
// what counts.
func (x examiner) review() error {
	err := x.upgrader.secure.showOwn()
	for _, c := range x.connections("") {
		before := c.ours.routing.Load()
		if after := c.ours.examine(); before == after {
			continue
		}
		p := c.ours.secure.remote
		if x.carrying.any(p) {
			x.watch(c)
		} else {
			x.endUncertified(c)
		}
		if !routes(x.swarm, p) {
			x.owner.router.down(p)
		}
	}
	return err
}

// routes says whether p is connected and takes part in routing.
func routes(n network.Network, p peer.ID) bool {
	return slices.ContainsFunc(n.ConnsToPeer(p), func(c network.Conn) bool {
		var ours *muxedConn
		return c.As(&ours) && ours.routing.Load() && !ours.Conn.IsClosed()
	})
}

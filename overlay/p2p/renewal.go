// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// keysChanged has handshakes show the network's present keys, and closes connections
// with peers whom none of them has admitted.
func (x *assembly) keysChanged() error {
	err := x.upgrader.secure.renew()
	accepted, _, _ := x.owner.cfg.Network.Versions()
	for _, c := range x.connections("") {
		if !slices.Contains(accepted, c.ours.secure.shown.version) {
			x.owner.counters.add(countKeyRetired)
			_ = c.Close()
		}
	}
	return err
}

// retire has the connections to p that an older key than the newest has admitted carry
// nothing new.
func (x *assembly) retire(p peer.ID) (retired bool) {
	_, seals, _ := x.owner.cfg.Network.Versions()
	for _, c := range x.connections(p) {
		if c.ours.secure.shown.version < seals {
			c.ours.retired.Store(true)
			retired = true
		}
	}
	return retired
}

// settle closes retired connections to p that were replaced, and takes the others back.
func (x *assembly) settle(p peer.ID, replaced bool) {
	for _, c := range x.connections(p) {
		switch {
		case !c.ours.retired.Load():
		case replaced:
			_ = c.Close()
		default:
			c.ours.retired.Store(false)
		}
	}
}

// connection is one of swarm's, and what we know of it.
type connection struct {
	network.Conn
	ours *muxedConn
}

// connections lists those to p, or to all peers, the retired ones included.
func (x *assembly) connections(p peer.ID) (all []connection) {
	for _, conn := range x.swarm.Conns() {
		var c *muxedConn
		if conn.As(&c) && (p == "" || c.secure.remote == p) {
			all = append(all, connection{conn, c})
		}
	}
	return all
}

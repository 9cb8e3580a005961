// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"cmp"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Dials to one peer: the first two private and the first public address at
// once, then one more of each kind at these intervals. What fails early lets
// the next one begin early.
const (
	privateDialGap = 30 * time.Millisecond
	publicDialGap  = 150 * time.Millisecond
)

// Pitfall "dial back-off": by default one failed dial makes an address
// undialable for 5 s, so a restarted node is away for as long. These are
// package variables of swarm; they are set before any swarm can exist in this
// process, because reading them is not synchronised. Whoever asks us to dial
// clears the back-off of that peer anyway; what remains is for kad-dht's own
// dials.
func init() {
	swarm.BackoffBase = 200 * time.Millisecond
	swarm.BackoffCoef = 100 * time.Millisecond
	swarm.BackoffMax = 5 * time.Second
}

// rankAddrs says in which order and with which delays the addresses of a peer
// are dialled.
//
// Pitfall "dial ranking": the default waits for QUIC dials that we never make,
// and paces private addresses as if they were far.
func rankAddrs(addrs []ma.Multiaddr) []network.AddrDelay {
	sorted := slices.Clone(addrs)
	slices.SortStableFunc(sorted, func(a, b ma.Multiaddr) int { return cmp.Compare(rank(a), rank(b)) })
	delays := make([]network.AddrDelay, 0, len(sorted))
	var private, public time.Duration
	for i, a := range sorted {
		next, gap := &public, publicDialGap
		if rank(a) < rankPublic {
			next, gap = &private, privateDialGap
			if i == 0 && len(sorted) > 1 && rank(sorted[1]) < rankPublic {
				gap = 0
			}
		}
		delays = append(delays, network.AddrDelay{Addr: a, Delay: *next})
		*next += gap
	}
	slices.SortStableFunc(delays, func(a, b network.AddrDelay) int { return cmp.Compare(a.Delay, b.Delay) })
	return delays
}

// Ranks of addresses; lower ones are dialled first.
const (
	rankLoopback = iota
	rankPrivate4
	rankPrivate6
	rankPublic
)

func rank(a ma.Multiaddr) int {
	switch {
	case manet.IsIPLoopback(a):
		return rankLoopback // answers at once or not at all
	case !manet.IsPrivateAddr(a):
		return rankPublic
	}
	if _, err := a.ValueForProtocol(ma.P_IP6); err == nil {
		return rankPrivate6
	}
	return rankPrivate4
}

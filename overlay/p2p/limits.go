// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/internal/budget"
)

// limits is the resource manager.
//
// Pitfall "resource manager, per-IP limits": the default one allows 8
// connections and 0.2 new ones per second per IP address, except on loopback:
// tests pass, and a LAN behind one NAT or a Kubernetes node does not work.
// Pitfall "resource manager, counts": its other limits are small numbers that
// depend on the machine's memory and show as stream resets only. So nothing of
// it is used. Who is not admitted is the door's affair;
// admitted peers are limited here by count, and each refusal is counted by
// name.
type limits struct {
	network.NullResourceManager

	// Immutable.
	maxConns, maxConnsPerPeer, maxStreamsPerPeer int
	counters                                     *counters
	all                                          *budget.Budget[peer.ID] // streams

	// Guarded by mu.
	mu      sync.Mutex
	conns   int
	peers   map[peer.ID]int // connections
	streams map[peer.ID]int // opened by the peer
}

var _ network.ResourceManager = (*limits)(nil)

func newLimits(cfg Config, c *counters) *limits {
	return &limits{
		maxConns:          cfg.MaxConns,
		maxConnsPerPeer:   cfg.MaxConnsPerPeer,
		maxStreamsPerPeer: cfg.MaxStreamsPerPeer,
		counters:          c,
		all:               budget.New[peer.ID](cfg.MaxStreams),
		peers:             make(map[peer.ID]int),
		streams:           make(map[peer.ID]int),
	}
}

// OpenConnection implements network.ResourceManager.
func (l *limits) OpenConnection(network.Direction, bool, ma.Multiaddr) (network.ConnManagementScope, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns >= l.maxConns {
		l.counters.add(countConnLimit)
		return nil, fmt.Errorf("%w: %d connections", errLimit, l.maxConns)
	}
	l.conns++
	return &connScope{limits: l}, nil
}

// OpenStream implements network.ResourceManager. Only what the peer opens is
// limited.
func (l *limits) OpenStream(p peer.ID, dir network.Direction) (network.StreamManagementScope, error) {
	if dir == network.DirOutbound {
		return &network.NullScope{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams[p] >= l.maxStreamsPerPeer {
		l.counters.add(countStreamLimit)
		return nil, fmt.Errorf("%w: %d streams of one peer", errLimit, l.maxStreamsPerPeer)
	}
	if !l.all.Take(p, 1) {
		l.counters.add(countStreamShare)
		return nil, fmt.Errorf("%w: the peer's share of all streams", errLimit)
	}
	l.streams[p]++
	return &streamScope{limits: l, peer: p}, nil
}

// connScope is one connection's place in the counts.
type connScope struct {
	network.NullScope
	limits *limits

	// Guarded by limits.mu.
	peer peer.ID
	done bool
}

// PeerScope implements network.ConnManagementScope: nil until SetPeer.
func (s *connScope) PeerScope() network.PeerScope {
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	if s.peer == "" {
		return nil
	}
	return &s.NullScope
}

// SetPeer implements network.ConnManagementScope.
func (s *connScope) SetPeer(p peer.ID) error {
	l := s.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.done || s.peer != "" {
		return nil
	}
	if l.peers[p] >= l.maxConnsPerPeer {
		l.counters.add(countPeerConnLimit)
		return fmt.Errorf("%w: %d connections with one peer", errLimit, l.maxConnsPerPeer)
	}
	s.peer = p
	l.peers[p]++
	return nil
}

// Done implements network.ConnManagementScope. It may be called repeatedly:
// both libp2p and the upgrader do when a handshake fails.
func (s *connScope) Done() {
	l := s.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.done {
		return
	}
	s.done = true
	l.conns--
	if s.peer != "" {
		release(l.peers, s.peer)
	}
}

// streamScope is one incoming stream's place in the counts.
type streamScope struct {
	network.NullScope
	limits *limits
	peer   peer.ID
	once   sync.Once
}

// Done implements network.StreamManagementScope.
func (s *streamScope) Done() {
	s.once.Do(func() {
		s.limits.mu.Lock()
		defer s.limits.mu.Unlock()
		s.limits.all.Give(s.peer, 1)
		release(s.limits.streams, s.peer)
	})
}

func release(m map[peer.ID]int, p peer.ID) {
	if m[p]--; m[p] <= 0 {
		delete(m, p)
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/internal/crowd"
)

// Bounds of what all peers have together that show no certificate which lets them in.
const (
	maxUncertified  = 128     // connections that were accepted
	uncertifiedHeld = 8 << 20 // bytes that nobody has read, as Config.MaxHeld for others
)

// limits is the resource manager.
//
// Pitfall "resource manager, per-IP limits": the default one allows 8
// connections and 0.2 new ones per second per IP address, except on loopback:
// tests pass, and a LAN behind one NAT or a Kubernetes node does not work.
// Pitfall "resource manager, counts": its other limits are small numbers that
// depend on the machine's memory and show as stream resets only. So nothing of
// it is used. The door limits connections that have not been admitted. Admitted
// peers are limited here by count, and each refusal is counted by name. Accepted
// connections whose peers show no certificate that lets them in take no place of
// others: they are counted apart, and when there are too many of them one of the
// source that has most is closed.
type limits struct {
	network.NullResourceManager

	// Immutable.
	maxConns, maxConnsPerPeer, maxStreamsPerPeer int
	counters                                     *counters
	all                                          *budget.Budget[peer.ID] // streams

	// Guarded by mu.
	mu      sync.Mutex
	conns   int             // those in uncertified left out
	peers   map[peer.ID]int // connections
	streams map[peer.ID]int // opened by the peer

	uncertified *crowd.Crowd[netip.Prefix]
	scopes      map[uint64]*connScope // of those
	lastID      uint64
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
		uncertified:       crowd.New[netip.Prefix](),
		scopes:            make(map[uint64]*connScope),
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

// setApart counts a connection with those whose peers show no certificate that lets
// them in. It closes one of them if there are too many, perhaps this one.
func (l *limits) setApart(scope network.ConnManagementScope, source netip.Prefix, closeIt func()) {
	s := scope.(*connScope)
	if victim := l.apart(s, source, closeIt); victim != nil {
		l.counters.add(countApartEvicted)
		victim()
	}
}

// apart returns how to close the one that has to go, nil if none has.
func (l *limits) apart(s *connScope, source netip.Prefix, closeIt func()) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.done {
		return nil
	}
	l.conns--
	l.lastID++
	s.apart, s.closeIt = l.lastID, closeIt
	l.scopes[s.apart] = s
	l.uncertified.Add(s.apart, source)
	if l.uncertified.Len() <= maxUncertified {
		return nil
	}
	victim := l.scopes[l.uncertified.Victim(rand.IntN)]
	l.forget(victim)
	return victim.closeIt
}

// forget needs mu.
func (l *limits) forget(s *connScope) {
	l.uncertified.Remove(s.apart)
	delete(l.scopes, s.apart)
}

// connScope is one connection's place in the counts.
type connScope struct {
	network.NullScope
	limits *limits

	// Guarded by limits.mu.
	peer    peer.ID
	apart   uint64 // its number in uncertified; 0 = it is in conns
	closeIt func()
	done    bool
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
	if s.apart != 0 {
		l.forget(s)
	} else {
		l.conns--
	}
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

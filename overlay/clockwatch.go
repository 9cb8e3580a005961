// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"math"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/security"
)

// clockWatch drives the core that compares wall clocks.
type clockWatch struct {
	base *base
	ask  func() // asks all peers what their clocks show, and tells them ours
	turn func() // other wall clocks count; set before Start

	looks repeated // whether this node's clock was set

	mu   sync.Mutex
	core clocks // guarded by mu
}

func newClockWatch(b *base, ask func()) *clockWatch {
	return &clockWatch{base: b, ask: ask, turn: func() {}, core: newClocks(security.ClockTolerance)}
}

// heard takes in what the wall clock of a peer shows in a session, in ms since 1970; 0
// = it does not say. No lock is held.
func (w *clockWatch) heard(l *Link, session uint64, name string, wall int64, trip time.Duration) {
	if wall == 0 {
		return
	}
	w.step(clockEvent{peer: l.peer, session: session, name: name, wall: sinceEpoch(wall), trip: trip})
	if l.number.Load() != session { // it has ended meanwhile, and gone may have come first
		w.gone(l.peer, session)
	}
}

// told is heard for what a peer says while the session goes on.
func (w *clockWatch) told(l *Link, wall int64) {
	l.mu.Lock()
	name, session := l.known.name, l.number.Load()
	l.unlock()
	w.heard(l, session, name, wall, l.RTT())
}

// gone notes the end of a session. No lock is held.
func (w *clockWatch) gone(p peer.ID, session uint64) {
	w.step(clockEvent{peer: p, session: session, gone: true})
}

// sinceEpoch bounds what a peer may say to what can be compared: 1970 to 2262.
func sinceEpoch(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), math.MaxInt64/int64(2*time.Millisecond))) * time.Millisecond
}

func (w *clockWatch) step(e clockEvent) {
	w.stepAt(w.base.clock.Now(), e)
}

func (w *clockWatch) stepAt(t time.Time, e clockEvent) {
	now := instant{link: t.Sub(w.base.epoch), wall: sinceEpoch(t.UnixMilli())}
	w.mu.Lock()
	news := w.core.step(now, e)
	w.mu.Unlock()
	for _, n := range news {
		w.act(n)
	}
}

func (w *clockWatch) act(n clockNews) {
	log := w.base.log
	switch {
	case n.ask:
		w.ask()
	case n.turn:
		w.turn()
	case n.set != 0:
		log.Warn("the clock of this node was set: its peers are asked what theirs show", zap.Duration("by", n.set))
	case n.state != nil && n.state.State == ClockAgrees:
		log.Info("the clock of this node agrees with its peers' again")
	case n.state != nil:
		log.Warn("the clock of this node differs from its peers': it can't tell whether nobody serves a cluster; set the clock right",
			zap.Error(n.state.Err()), zap.Duration("peers_ahead", n.state.Ahead))
	default:
		log.Warn(n.words(), zap.Stringer("peer", namedPeer{n.peer, n.name}),
			zap.Duration("peer_ahead", n.ahead), zap.Int("more_peers", n.more))
	}
}

// words is what the log says of a peer.
func (n *clockNews) words() string {
	switch {
	case n.alone:
		return "the clock of a peer is wrong: most others agree with this node's"
	case n.grade == clockOff:
		return "the clocks of this node and a peer differ by more than epochs allow"
	}
	return "the clocks of this node and a peer differ"
}

// status looks whether the clock was set a moment ago: its users say what can't be known then.
func (w *clockWatch) status() ClockStatus {
	w.step(clockEvent{})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.core.status
}

// walls are the times that count.
func (w *clockWatch) walls() []time.Time {
	now := w.base.clock.Now()
	w.stepAt(now, clockEvent{})
	w.mu.Lock()
	c := w.core.walls()
	w.mu.Unlock()
	if c.also == c.ours {
		return []time.Time{now}
	}
	return []time.Time{now, now.Add(c.also - c.ours)}
}

// ahead is how far a peer's clock is ahead of ours, and false if it has not said.
func (w *clockWatch) ahead(p peer.ID) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.core.peers[p]
	if c == nil || c.grade == clockUnknown {
		return 0, false
	}
	return w.core.ahead(c), true
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
)

// This file drives the liveness core and the estimate of the peer's clock.
// Functions are called with mu held unless they say otherwise.

// clockSample is what the Hello exchange says about the peer's clock. Times
// are in ns: sent and got on our link clock, remote on the peer's.
type clockSample struct {
	sent   uint64 // our Hello; 0 if the peer's came first
	got    uint64 // the peer's Hello
	remote uint64 // in the peer's Hello
}

// Hold declares interest in the peer's life: heartbeats run while anybody
// holds the link. release may be called more than once.
func (l *Link) Hold() (release func()) {
	l = l.lock()
	defer l.release()
	l.holders++
	if l.holders == 1 {
		now := l.o.clock.Now()
		if !l.live.suspect { // else it was never left alone
			l.interest = now
		}
		if l.up() && l.beatTimer == nil {
			l.beat(now)
		}
	}
	released := false // guarded by mu
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !released {
			released = true
			l.holders-- // the timer lapses by itself: interest often comes back at once
		}
	}
}

// beat steps the liveness core, acts, and sets the timer.
func (l *Link) beat(now time.Time) {
	if l.sess.number == selfSession {
		return
	}
	v := vitals{heard: l.o.epoch.Add(time.Duration(l.heard.Load()))}
	// A suspect link is watched to its end, even if the suspicion has cost it
	// its holders. Left alone it would stay up, and whoever wants the peer again
	// would wait for a connection that may be dead since long ago.
	if l.holders > 0 || l.live.suspect {
		v.since = l.interest
	}
	a := l.live.step(now, v)
	if a.close {
		for _, st := range l.streams {
			l.reset(st, ErrSilent, codeSilent)
		}
		l.endSession(fmt.Errorf("%w for %v", ErrSilent, l.live.limit))
		l.settle()
		// What hangs is the connection: the next dial must not use it again.
		l.later(func() { l.o.transport.Disconnect(l.peer) })
		return
	}
	if a.suspect {
		l.suspected.Store(true)
		l.report(LinkSuspect, l.sess.number, nil)
	}
	if a.ping {
		l.ping(now)
	}
	l.stopBeats()
	if a.wake.IsZero() {
		return
	}
	number := l.beatNumber
	l.beatTimer = l.o.after("overlay/beat", a.wake.Sub(now), func() { l.beatTime(number) })
}

// beatTime is what the timer calls; without mu.
func (l *Link) beatTime(number uint64) {
	l.mu.Lock()
	defer l.unlock()
	if number == l.beatNumber && l.up() {
		l.beatTimer = nil
		l.beat(l.o.clock.Now())
	}
}

// stopBeats makes the timer that is running, if any, count no more.
func (l *Link) stopBeats() {
	l.beatNumber++
	if l.beatTimer != nil {
		l.beatTimer.Stop()
		l.beatTimer = nil
	}
}

// sign notes a byte from the peer; without mu.
func (l *Link) sign() {
	now := l.o.clock.Now()
	l.heard.Store(int64(now.Sub(l.o.epoch)))
	if !l.suspected.Load() {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if l.up() && l.live.heard(now) {
		l.suspected.Store(false)
		l.report(LinkRecovered, l.sess.number, nil)
	}
}

// ping asks the peer for a sign of life and for its clock.
func (l *Link) ping(now time.Time) {
	l.control(wire.KindBeat, &wire.Beat{Clock: l.o.LinkTime(now), WantReply: true})
}

// control queues a message of the overlay itself.
func (l *Link) control(k wire.Kind, m proto.Message) {
	if !l.up() {
		return
	}
	body, err := wire.AppendControl(nil, m)
	if err != nil {
		panic("BUG: control message does not encode: " + err.Error())
	}
	size := len(body) + wire.FrameOverhead
	if !l.sess.queue.reserve(LaneCtl, size) {
		l.o.drops.add(dropLaneFull(LaneCtl), 1)
		return
	}
	l.sess.queue.push(LaneCtl, k, size, [][]byte{body})
	l.sender.kickLater()
}

// handleBeat answers, learns, or both; without mu.
func (l *Link) handleBeat(body []byte) error {
	var m wire.Beat
	if err := wire.DecodeControl(body, &m); err != nil {
		return fmt.Errorf("%w: beat: %w", ErrProtocol, err)
	}
	if m.GetClock() > maxLinkTime || m.GetEcho() > maxLinkTime || m.GetHeld() > maxLinkTime {
		return fmt.Errorf("%w: beat: clock", ErrProtocol)
	}
	now := l.o.now()
	l.mu.Lock()
	defer l.unlock()
	if m.GetWantReply() {
		l.control(wire.KindBeat, &wire.Beat{Clock: now, Echo: m.GetClock(), Held: l.o.now() - now})
	}
	better := false
	if m.GetEcho() != 0 {
		l.answerDoubt(m.GetEcho())
		better = l.peerClock.exchange(now, m.GetEcho(), m.GetHeld(), m.GetClock())
	} else {
		better = l.peerClock.message(now, m.GetClock())
	}
	if better {
		l.offset.Store(l.peerClock.offset)
	}
	return nil
}

// learnClock takes what the Hello exchange said.
func (l *Link) learnClock(s clockSample) {
	var better bool
	if s.sent == 0 {
		better = l.peerClock.message(s.got, s.remote)
	} else {
		better = l.peerClock.exchange(s.got, s.sent, 0, s.remote)
	}
	if better {
		l.offset.Store(l.peerClock.offset)
	}
}

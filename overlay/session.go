// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"slices"
)

// This file is the life of a session: it begins when a first stream has said
// Hello, goes on while streams converge on one, and ends when any of them
// breaks or the last one is over. All functions here are called with mu held
// unless they say otherwise.

// up says whether there is a session that is not about to end.
func (l *Link) up() bool { return l.sess != nil && l.cause == nil }

// join adds a stream whose Hello was accepted.
func (l *Link) join(st *stream) {
	l.streams = append(l.streams, st)
	switch {
	case l.sess == nil:
		l.begin()
	case l.cause == nil:
		st.admit()
		l.choose()
	}
	// Otherwise the old session is ending, and settle begins the next one.
}

// pending is how many received messages are incomplete.
func (s *session) pending() int {
	s.partsMu.Lock()
	defer s.partsMu.Unlock()
	return s.parts.pending()
}

// begin starts a session on the streams there are.
func (l *Link) begin() {
	now := l.o.clock.Now()
	l.sess = &session{
		number: l.o.nextSession(),
		queue:  newSendQueue(l.o.cfg.LaneBytes, l.o.cfg.MaxMessage, &l.o.chunks),
		parts:  newReassembly(l.o.cfg.MaxMessage),
		ended:  make(chan struct{}),
	}
	l.number.Store(l.sess.number)
	l.heard.Store(int64(l.o.LinkTime(now)))
	l.live.begin(now)
	l.report(LinkUp, l.sess.number, nil)
	for _, st := range l.streams {
		if st.usable() {
			st.admit()
		}
	}
	l.choose()
	for _, w := range l.waiters {
		w.session = l.sess.number
		l.wakeLater("overlay/wait", func() { close(w.done) })
	}
	l.waiters = nil
	if l.stopDial != nil && l.greeting == nil {
		l.later(l.stopDial)
	}
	if !l.sender.outbound {
		l.ping(now) // the side that was called has not timed an exchange yet
	}
	if l.holders > 0 {
		l.beat(now)
	}
}

// choose decides which stream sends. The others say goodbye, and are read
// until the peer has done the same: nothing is lost.
func (l *Link) choose() {
	var best *stream
	for _, st := range l.streams {
		if st.usable() && (best == nil || preferred(l.lower, st.outbound)) {
			best = st
		}
	}
	if best == nil {
		return
	}
	for _, st := range l.streams {
		if st != best && st.failed == nil && st.farewell == nil {
			st.farewell = &farewell{code: codeSuperseded, reason: "another stream of this link is used"}
			l.later(st.limit)
			st.kickLater()
		}
	}
	if best == l.sender {
		return
	}
	l.sender = best
	best.kickLater()
	if best.hello.instance != l.instance {
		l.instance, l.peerClock = best.hello.instance, linkClock{}
	}
	l.agent, l.version = best.hello.agent, best.hello.version
	l.learnClock(best.sample)
}

// fail ends a stream because of cause, and with it the session.
func (l *Link) fail(st *stream, cause error, code uint32) {
	if st.failed != nil || (st.readDone && st.writeDone) {
		return
	}
	l.reset(st, cause, code)
	if !slices.Contains(l.streams, st) {
		return
	}
	l.endSession(cause)
	for _, other := range l.streams {
		if other.farewell != nil { // on its way out, it can't carry the next session
			l.reset(other, cause, codeBroken)
		}
	}
	l.settle()
}

// reset ends a stream; the conclusions are the caller's.
func (l *Link) reset(st *stream, cause error, code uint32) {
	if st.failed != nil {
		return
	}
	st.failed = cause
	st.kickLater()
	l.wakeLater("overlay/dead", func() { close(st.dead) })
	l.later(func() { st.s.Reset(code) })
}

// endSession makes the link unusable for sending at once. LinkDown comes when
// the readers of what broke have returned, see settle.
func (l *Link) endSession(cause error) {
	if !l.up() {
		return
	}
	l.cause = cause
	l.number.Store(0)
	l.suspected.Store(false)
	l.stopBeats()
	messages, waiting := l.sess.queue.drop()
	l.o.drops.add(dropLinkLost, messages)
	for _, w := range waiting {
		l.wakeLater("overlay/room", w.wake)
	}
}

// settle draws the conclusions when something about the streams has changed.
func (l *Link) settle() {
	l.streams = slices.DeleteFunc(l.streams, func(st *stream) bool { return st.readDone && st.writeDone })
	if l.sess == nil {
		return
	}
	if l.cause == nil {
		if l.greeting != nil || slices.ContainsFunc(l.streams, (*stream).readable) {
			return
		}
		l.endSession(l.o.lastWord())
		for _, st := range l.streams {
			l.reset(st, l.cause, codeBroken)
		}
	}
	for _, st := range l.streams {
		if st.failed != nil && !st.readDone {
			return // its reader may be handling a frame of this session
		}
	}
	l.o.drops.add(dropPartialLost, l.sess.pending())
	cause := l.cause
	l.report(LinkDown, l.sess.number, cause)
	ended := l.sess.ended
	l.wakeLater("overlay/ended", func() { close(ended) })
	l.sess, l.cause, l.sender = nil, nil, nil
	l.downSince = l.o.clock.Now()
	if slices.ContainsFunc(l.streams, (*stream).usable) {
		l.begin()
	} else if !l.opening {
		l.disappoint(cause)
	}
}

// readEnded notes how reading a stream ended; called without mu.
func (l *Link) readEnded(st *stream, err error) {
	l.mu.Lock()
	defer l.unlock()
	var left *leftError
	switch {
	case errors.As(err, &left):
		l.endSession(left.cause)
		st.farewell = &farewell{silent: true}
		l.later(st.limit)
		st.kickLater()
	case err != nil:
		if errors.Is(err, ErrProtocol) {
			l.o.drops.add(dropMalformed, 1)
		}
		l.fail(st, err, resetCode(err))
	}
	st.readDone = true
	l.wakeLater("overlay/drained", func() { close(st.drained) })
	l.settle()
}

// writeEnded notes how writing a stream ended; called without mu.
func (l *Link) writeEnded(st *stream, err error) {
	l.mu.Lock()
	defer l.unlock()
	if err != nil {
		l.fail(st, err, codeBroken)
	}
	st.writeDone = true
	l.settle()
}

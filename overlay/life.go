// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// This file is the life of a session: it begins when two nodes that have none say
// Hello, goes on over one connection after the other, and ends when it can't go on.
// Functions are called with mu held unless they say otherwise.

// outage is the time in which no connection carries the session.
type outage struct {
	session.Outage
	timer  Timer
	number uint64 // which timer counts
}

// meeting is what a Hello exchange means.
type meeting uint8

const (
	meetBegin   meeting = iota + 1 // a session begins; one that stood has ended
	meetResume                     // the session that stands goes on
	meetStale                      // the Hello is older than what we know, or ours comes first
	meetStrange                    // another process, while a connection to the former one stands
)

// views is what the two sides say about their session.
type views struct {
	up         bool // we have one …
	attached   bool // … that a connection carries
	calling    bool // we have said Hello on another connection, and wait for the answer
	first      bool // our calls come before the peer's
	id         uint64
	instance   instanceID // of the peer, as we know it
	clock      uint64     // in the last Hello that we know from it
	theirs     uint64
	theirClock uint64
	them       instanceID
}

// meet decides what the Hello of a peer that calls means. Hello clocks of one
// instance grow with each Hello: an older one was under way for long, and the peer
// has given its connection up. Two calls that cross are seen by both sides: they
// take the one of the lower peer id.
func meet(v views) meeting {
	same := v.them == v.instance
	switch {
	case same && v.theirClock <= v.clock, v.calling && v.first:
		return meetStale
	case v.up && !same && v.attached:
		return meetStrange
	case v.up && same && v.theirs == v.id:
		return meetResume
	}
	return meetBegin
}

// begin starts a session with the peer that said g.
func (l *Link) begin(id uint64, g *greeting) *session.Session {
	l.endSession(fmt.Errorf("%w: the peer knows nothing of the session", ErrLost))
	s := l.o.newSession(l, id)
	if l.known.instance != g.instance {
		l.known.clock = 0
	}
	l.known.instance = g.instance
	l.former.Store(l.last.Load())
	l.last.Store(s)
	l.number.Store(s.Number())
	l.suspected.Store(false)
	l.ended = make(chan struct{})
	l.dialing.proposal = 0
	l.report(LinkUp, s.Number(), nil)
	for _, w := range l.waiters {
		w.session = s.Number()
		l.wakeLater("overlay/wait", func() { close(w.done) })
	}
	l.waiters = nil
	if l.held() {
		l.after.Add(func() { s.Want(l.held) })
	}
	return s
}

// newSession returns a session of l; not guarded.
func (o *Overlay) newSession(l *Link, id uint64) *session.Session {
	return session.New(session.Config{
		Clock: gatedClock{o}, Exec: o.cfg.Seam.Exec, Rand: o.rand, Go: o.gate.spawn, Done: o.ctx.Done(),
		Key: l.key, Number: o.nextSession(), ID: id, Epoch: o.epoch,
		LaneBytes: o.cfg.LaneBytes, MaxMessage: o.cfg.MaxMessage, Beat: o.cfg.Heartbeat, Pool: &o.chunks,
		Handler: func(_ wire.Lane, k wire.Kind, body []byte) bool { return l.handle(k, body) },
		Notice:  l.logNotice,
		Changed: l.changed,
		Dropped: func(why session.Drop, n int) { o.drops.add(dropReason(why), n) },
		Sent:    l.wrote,
	})
}

// endSession ends the session. Nothing of it is handled any more: the connection
// that carried it has been left.
func (l *Link) endSession(cause error) {
	if !l.up() {
		return
	}
	s := l.last.Load()
	l.number.Store(0)
	l.suspected.Store(false)
	l.outage.stop()
	l.report(LinkDown, s.Number(), cause)
	ended := l.ended
	l.wakeLater("overlay/ended", func() { close(ended) })
	l.after.Add(s.End)
	l.known.downSince = l.o.clock.Now()
}

// changed looks whether the peer is suspect; without mu.
func (l *Link) changed() {
	l.mu.Lock()
	defer l.unlock()
	s := l.last.Load()
	if !l.up() {
		return
	}
	attached := s.Attached()
	if attached {
		l.joining = nil
		l.outage.stop()
	}
	l.suspect(!attached || s.Silent())
}

func (l *Link) suspect(on bool) {
	switch was := l.suspected.Swap(on); {
	case on && !was:
		l.report(LinkSuspect, l.number.Load(), nil)
	case was && !on:
		l.report(LinkRecovered, l.number.Load(), nil)
	}
}

// carry has a connection that has said Hello carry s, until it is over; without mu.
func (l *Link) carry(s *session.Session, st *stream, g *greeting) {
	err := s.Run(st.Carrier, g.of(st.sample))
	l.mu.Lock()
	l.lost(s, st, err)
	l.unlock()
}

// lost notes why st does not carry s any more.
func (l *Link) lost(s *session.Session, st *stream, err error) {
	if l.joining == st {
		l.joining = nil
	}
	if d := l.doubt; d != nil {
		l.wakeLater("overlay/doubt", d.broken)
	}
	if errors.Is(err, ErrProtocol) {
		l.o.drops.add(dropReason(session.DropMalformed), 1)
	}
	if !l.up() || l.last.Load() != s || errors.Is(err, session.ErrReplaced) {
		return // whoever replaced it goes on
	}
	switch over := sessionEnd(err); {
	case l.o.leaving():
		l.endSession(ErrClosed)
		l.disappoint(ErrClosed)
	case over != nil:
		l.endSession(over)
		if !l.dialing.open {
			l.disappoint(over)
		}
	case l.joining != nil || s.Attached(): // another connection was faster than this news
	default:
		l.suspect(true)
		l.begins(s)
	}
}

// sessionEnd says whether err ends the session, and not only its connection.
func sessionEnd(err error) error {
	var bye *session.GoodbyeError
	switch {
	case errors.As(err, &bye):
		return goodbyeError(bye.Code, bye.Reason)
	case errors.Is(err, ErrProtocol), errors.Is(err, session.ErrPoison):
		return err
	case errors.Is(err, session.ErrLeft), errors.Is(err, session.ErrDown):
		return ErrLost
	}
	return nil
}

// begins starts an outage: the peer is dialled at once, and again, until the
// session can't be saved.
func (l *Link) begins(s *session.Session) {
	l.outage.Begin(s.Heard())
	l.outageTimer()
	l.open(nil)
}

// outageTimer has the session end when the outage has lasted for too long.
func (l *Link) outageTimer() {
	l.outage.stop()
	number := l.outage.number
	l.outage.timer = l.o.after("overlay/outage", max(0, l.outage.Left(l.o.clock.Now())), func() {
		l.mu.Lock()
		defer l.unlock()
		if number == l.outage.number && l.up() && l.joining == nil && !l.last.Load().Attached() {
			l.giveUp(fmt.Errorf("%w for %v", ErrSilent, session.OutageLimit))
		}
	})
}

// giveUp ends a session that no connection carries.
func (l *Link) giveUp(cause error) {
	l.endSession(cause)
	l.disappoint(cause)
	if l.dialing.stop != nil {
		l.after.Add(l.dialing.stop)
	}
}

// stop makes the timer that is running, if any, count no more.
func (o *outage) stop() {
	o.number++
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// redial notes that a dial in an outage failed, and plans the next.
func (l *Link) redial(err error) {
	if errors.Is(err, ErrGoodbye) || errors.Is(err, ErrVersion) || errors.Is(err, ErrDuplicate) || errors.Is(err, ErrProtocol) {
		l.giveUp(err)
		return
	}
	now := l.o.clock.Now()
	wait := l.outage.Failed(now, errors.Is(err, ErrRefused))
	if l.outage.Gone() {
		l.giveUp(fmt.Errorf("%w: the process is gone", ErrLost))
		return
	}
	wait += wait / 100 * time.Duration(l.o.rand.IntN(26))
	number := l.outage.number
	l.o.after("overlay/redial", wait, func() {
		l.mu.Lock()
		defer l.unlock()
		if number == l.outage.number {
			l.open(nil)
		}
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// logEvery bounds how often one link logs that a peer id is used twice.
const logEvery = time.Minute

// doubt is the question whether the peer's older instance is still alive,
// while a newer one waits at the door.
type doubt struct {
	answers chan bool // has room for all who may answer: whether it is alive
}

func (d *doubt) answer(alive bool) {
	select {
	case d.answers <- alive:
	default: // somebody else has
	}
}

func (d *doubt) broken() { d.answer(false) }

// duplicateError refuses a stream because the peer id is in use elsewhere.
type duplicateError struct{ other string }

func (e *duplicateError) Error() string {
	return ErrDuplicate.Error() + ", at " + e.other
}

func (e *duplicateError) Unwrap() error { return ErrDuplicate }

// errBusy refuses a stream that comes while another one's case is open.
var errBusy = errors.New("overlay: another stream of this peer is being judged")

// resolve finds out what it means that another instance of the peer came. nil
// means that the old one is gone, and the caller may try again. Otherwise the
// peer id is used twice: the old one stays and is told, fresh is to be
// refused.
func (l *Link) resolve(fresh *stream) error {
	l.mu.Lock()
	if l.doubt != nil {
		l.unlock()
		return errBusy
	}
	if !l.up() {
		l.unlock()
		return nil
	}
	s, addr := l.last.Load(), l.known.addr
	d := &doubt{answers: make(chan bool, 1)}
	l.doubt = d
	l.unlock()
	alive, err := l.probe(s, d)
	l.mu.Lock()
	l.doubt = nil
	l.unlock()
	switch {
	case err != nil:
		return err
	case !alive:
		s.Break(fmt.Errorf("%w: the peer was started anew", ErrLost), codeBroken)
		s.Detach()
		return nil
	}
	if l.mayLog() {
		l.o.log.Error("two live nodes use the same peer id: was a data directory copied?",
			zap.Stringer("peer", l.peer), zap.String("addr", addr),
			zap.String("other_addr", fresh.s.RemoteAddr()))
	}
	_ = s.Notify(duplicateNotice(fresh.s.RemoteAddr())) // it encodes
	return &duplicateError{other: addr}
}

// probe asks the peer on the present connection of s for a sign of life. Only the
// answer to this very question counts: other bytes may have been under way
// when the old instance died.
func (l *Link) probe(s *session.Session, d *doubt) (alive bool, err error) {
	s.Ask(l.o.stamp(), func() { l.o.wake("overlay/doubt", l.key, func() { d.answer(true) }) })
	timer := l.o.clock.AfterFunc("overlay/doubt", s.Patience(), func() {
		l.o.wake("overlay/doubt", l.key, d.broken)
	})
	defer timer.Stop()
	select {
	case alive = <-d.answers:
	case <-l.o.ctx.Done():
		err = ErrClosed
	}
	return alive, err
}

func duplicateNotice(other string) *wire.Notice {
	return &wire.Notice{Topic: wire.Notice_DUPLICATE_PEER_ID, Detail: wire.ClipText(other)}
}

func (l *Link) logNotice(m *wire.Notice) {
	if !l.mayLog() {
		return
	}
	log := l.o.log.With(zap.Stringer("peer", l.peer), zap.String("detail", m.GetDetail()))
	if m.GetTopic() == wire.Notice_DUPLICATE_PEER_ID {
		log.Error("another live node uses this node's peer id: was the data directory copied?")
		return
	}
	log.Warn("peer sent a notice of unknown topic")
}

// mayLog says whether a duplicate of this peer was not logged lately.
func (l *Link) mayLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.clock.Now()
	if !l.noticed.IsZero() && now.Sub(l.noticed) < logEvery {
		return false
	}
	l.noticed = now
	return true
}

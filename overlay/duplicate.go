// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

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

// resolve finds out what it means that another instance of the peer came on st.
// nil means that the old one is gone, and the caller may try again. Otherwise the
// peer id is used twice: the old one stays and is told, st is to be refused.
func (st *stream) resolve() error {
	l := st.l
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
	alive, err := st.probe(s, d)
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
	l.notices.log(func(log *zap.Logger) {
		log.Error("two live nodes use the same peer id: was a data directory copied?",
			zap.String("addr", addr), zap.String("other_addr", st.s.RemoteAddr()))
	})
	_ = s.Notify(duplicateNotice(st.s.RemoteAddr())) // it encodes
	return &duplicateError{other: addr}
}

// probe asks the peer on the present connection of s for a sign of life. Only the
// answer to this very question counts: other bytes may have been under way
// when the old instance died.
func (st *stream) probe(s *session.Session, d *doubt) (alive bool, err error) {
	o, key := st.l.o, st.l.key
	s.Ask(o.stamp(), func() { o.wake("overlay/doubt", key, func() { d.answer(true) }) })
	timer := o.clock.AfterFunc("overlay/doubt", s.Patience(), func() {
		o.wake("overlay/doubt", key, d.broken)
	})
	defer timer.Stop()
	select {
	case alive = <-d.answers:
	case <-o.ctx.Done():
		err = ErrClosed
	}
	return alive, err
}

func duplicateNotice(other string) *wire.Notice {
	return &wire.Notice{Topic: wire.Notice_DUPLICATE_PEER_ID, Detail: wire.ClipText(other)}
}

// logEvery bounds how often what one peer can cause is logged.
const logEvery = time.Minute

// noticeLog logs what concerns one peer and many may have to be told of: not more
// than once a minute.
type noticeLog struct {
	base *base
	peer peer.ID

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// log calls f with a log that names the peer, unless something was logged lately.
func (n *noticeLog) log(f func(*zap.Logger)) (logged bool) { return n.logOf(n.peer, f) }

// logOf is log about a peer.
func (n *noticeLog) logOf(p peer.ID, f func(*zap.Logger)) (logged bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.base.clock.Now()
	if !n.last.IsZero() && now.Sub(n.last) < logEvery {
		return false
	}
	n.last = now
	f(n.base.log.With(zap.Stringer("peer", namedPeer{id: p}), zap.Stringer("id", p)))
	return true
}

// refused logs why there is no link to a peer, if somebody has to do something
// about it.
func (n *noticeLog) refused(p peer.ID, err error) (logged bool) {
	var text string
	switch {
	case errors.Is(err, ErrVersion):
		text = "a peer has no link version in common with this node"
	case errors.Is(err, ErrTurnedAway):
		text = "a peer does not let this node in"
	case errors.Is(err, ErrNotAdmitted):
		text = "a peer is not let in"
	default:
		return false
	}
	return n.logOf(p, func(log *zap.Logger) { log.Warn(text, zap.Error(err)) })
}

// tell logs a notice of the peer's.
func (n *noticeLog) tell(m *wire.Notice) {
	n.log(func(log *zap.Logger) {
		log = log.With(zap.String("detail", m.GetDetail()))
		if m.GetTopic() == wire.Notice_DUPLICATE_PEER_ID {
			log.Error("another live node uses this node's peer id: was the data directory copied?")
			return
		}
		log.Warn("peer sent a notice of unknown topic")
	})
}

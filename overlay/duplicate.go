// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
)

// logEvery bounds how often one link logs that a peer id is used twice.
const logEvery = time.Minute

// doubt is the question whether the peer's older instance is still alive,
// while a newer one waits at the door.
type doubt struct {
	clock    uint64 // in the Beat that asks
	answered chan struct{}
	over     chan struct{} // no answer in time
}

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
func (l *Link) resolve(old, fresh *stream) error {
	alive, err := l.probe(old)
	if err != nil {
		return err
	}
	if !alive {
		l.mu.Lock()
		l.fail(old, fmt.Errorf("%w, and was started anew", ErrSilent), codeSilent)
		l.unlock()
		return nil
	}
	if l.mayLog() {
		l.o.log.Error("two live nodes use the same peer id: was a data directory copied?",
			zap.Stringer("peer", l.peer), zap.String("addr", old.s.RemoteAddr()),
			zap.String("other_addr", fresh.s.RemoteAddr()))
	}
	l.mu.Lock()
	l.control(wire.KindNotice, duplicateNotice(fresh.s.RemoteAddr()))
	l.unlock()
	return &duplicateError{other: old.s.RemoteAddr()}
}

// probe asks the peer on the session of old for a sign of life. Only the
// answer to this very question counts: other bytes may have been under way
// when the old instance died.
func (l *Link) probe(old *stream) (alive bool, err error) {
	l.mu.Lock()
	if l.doubt != nil {
		l.unlock()
		return false, errBusy
	}
	d := &doubt{clock: l.o.stamp(), answered: make(chan struct{}), over: make(chan struct{})}
	l.doubt = d
	l.control(wire.KindBeat, &wire.Beat{Clock: d.clock, WantReply: true})
	l.unlock()

	timer := l.o.clock.AfterFunc("overlay/doubt", missesAllowed*l.o.cfg.Heartbeat, func() {
		l.o.wake("overlay/doubt", l.key, func() { close(d.over) })
	})
	select {
	case <-d.answered:
		alive = true
	case <-old.drained:
	case <-d.over:
	case <-l.o.ctx.Done():
		err = ErrClosed
	}
	timer.Stop()
	l.mu.Lock()
	l.doubt = nil
	l.unlock()
	return alive, err
}

// answerDoubt notes a Beat that echoes clock. mu is held.
func (l *Link) answerDoubt(clock uint64) {
	if d := l.doubt; d != nil && d.clock == clock {
		d.clock = 0 // once
		l.wakeLater("overlay/doubt", func() { close(d.answered) })
	}
}

func duplicateNotice(other string) *wire.Notice {
	return &wire.Notice{Topic: wire.Notice_DUPLICATE_PEER_ID, Detail: wire.ClipText(other)}
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

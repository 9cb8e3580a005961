// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
)

// Codes of Goodbye frames and resets that sessions use. Closed list; do not
// reorder. A Goodbye may carry others, which are its sender's owner's.
const (
	CodeShutdown uint32 = 1 // this side is going away
	CodeProtocol uint32 = 4 // what was received can't be understood
	CodeSilent   uint32 = 6 // heartbeats were not answered
	CodeReplaced uint32 = 8 // another connection is used instead
	CodeBroken   uint32 = 9 // the connection broke
)

// attachment is one connection that carries the session. One goroutine at a time reads
// it: Run's caller, or those that take turns (standby.go). Another one writes, and has
// returned before Run does.
type attachment struct {
	// Immutable.
	s    *Session
	conn *Carrier
	over chan struct{} // closed when nobody reads or writes any more
	gone chan struct{} // closed when the writer has returned

	turns *turns // of who reads; nil = that is Run's caller

	// Guarded by mu.
	mu     sync.Mutex
	failed error

	// Owned by the writer, or by who writes in its place.
	spans []span
	head  []byte
	parts [][]byte
	size  int           // of parts
	ahead int           // bytes of what is to be written that have been written
	took  time.Duration // the Write before
	limit int           // of a batch
	told  int           // the limit that the connection knows
	// What Config.Sent gets of parts.
	frames uint64
	bytes  [wire.Lanes]uint64
}

// fail ends the connection because of cause, the first time.
func (a *attachment) fail(cause error, code uint32) {
	a.mu.Lock()
	if a.failed != nil {
		a.mu.Unlock()
		return
	}
	a.failed = cause
	a.mu.Unlock()
	_ = a.conn.Reset(code)
	a.s.out.stir()
}

// end ends what is left of the connection when reading has ended with err.
func (a *attachment) end(err error) {
	if !isEnd(err) {
		a.fail(err, resetCode(err))
		return
	}
	a.mu.Lock()
	if a.failed == nil {
		a.failed = err
	}
	a.mu.Unlock()
	a.s.out.stir()
}

// resetCode is what the peer is told when reading failed with err.
func resetCode(err error) uint32 {
	if errors.Is(err, ErrProtocol) {
		return CodeProtocol
	}
	return CodeBroken
}

// cause is why the connection was ended, nil if it was not.
func (a *attachment) cause() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// feed feeds the connection until it is over: a batch of whatever has the
// highest priority, as soon as the connection has taken the previous one. What is
// queued during a write leaves together in the next.
func (a *attachment) feed() {
	defer a.s.out.wake("session/written", func() { close(a.gone) })
	b := a.s.out
	for {
		step, last := a.next()
		switch {
		case step == stepStop:
			return
		case step == stepLeave && a.s.in.closed():
			a.leave(last)
			return
		case step == stepLeave && a.s.in.close():
			continue // what was handled meanwhile may have been answered
		case step != stepWrite:
			select {
			case <-b.kick:
				if a.conn.own != nil {
					runtime.Gosched() // who is about to send, too, does so first
				}
			case <-b.cfg.Done: // not even Exec wakes anybody any more
				return
			}
			continue
		}
		if err := a.timed(a.send); err != nil {
			a.fail(fmt.Errorf("%w: write: %w", ErrLost, err), CodeBroken)
			return
		}
		if b.cfg.Forget {
			b.consumed()
		}
	}
}

// batch is memory for what leaves in one Write but is not one run of bytes.
type batch struct{ b []byte }

// timed times a Write, for pace.
func (a *attachment) timed(write func() error) error {
	if own := a.conn.own; own != nil && (a.limit > 2*a.told || a.limit < a.told/2) {
		a.told = a.limit
		own.Unsent(2 * a.limit)
	}
	begun := a.s.cfg.Clock.Now()
	err := write()
	a.took = a.s.cfg.Clock.Now().Sub(begun)
	return err
}

// send writes head and the spans at once.
func (a *attachment) send() error {
	a.gather()
	a.skip(a.ahead)
	a.ahead = 0
	err := a.write(a.size)
	a.sent(err == nil)
	return err
}

// gather puts what is to be written into parts.
func (a *attachment) gather() {
	a.frames, a.bytes = countFrames(a.head), [wire.Lanes]uint64{wire.LaneCtl: uint64(len(a.head))}
	a.parts = append(a.parts[:0], a.head)
	a.size = len(a.head)
	for _, s := range a.spans {
		a.parts = append(a.parts, s.b)
		n := len(s.b) + len(s.loan)
		if len(s.loan) > 0 {
			a.parts = append(a.parts, s.loan)
		}
		a.frames += s.frames
		a.bytes[s.lane] += uint64(n)
		a.size += n
	}
}

// skip takes the first n bytes out of parts.
func (a *attachment) skip(n int) {
	a.size -= n
	for i, p := range a.parts {
		m := min(n, len(p))
		a.parts[i], n = p[m:], n-m
	}
}

// sent notes that parts were written, or not.
func (a *attachment) sent(all bool) {
	clear(a.parts)
	if all {
		a.s.cfg.Sent(a.frames, a.bytes)
	}
}

// write writes parts, which have size bytes.
func (a *attachment) write(size int) (err error) {
	switch {
	case a.conn.own != nil:
		_, err = a.conn.own.WriteAll(size, a.parts...)
	case len(a.spans) == 0:
		_, err = a.conn.Write(a.head)
	case len(a.parts) == 2 && len(a.head) == 0:
		_, err = a.conn.Write(a.spans[0].b)
	default:
		err = a.join(size)
	}
	return err
}

// join writes what is not one run of bytes.
func (a *attachment) join(size int) error {
	pool := &a.s.cfg.Memory.Pool.batches
	joined, ok := pool.Get().(*batch)
	if !ok {
		joined = &batch{}
	}
	joined.b = slices.Grow(joined.b[:0], size)
	for _, p := range a.parts {
		joined.b = append(joined.b, p...)
	}
	_, err := a.conn.Write(joined.b)
	pool.Put(joined)
	return err
}

// leave says the last words of this direction. From here on nothing that arrives
// is handled.
func (a *attachment) leave(f *farewell) {
	handled := counts(&a.s.in.received)
	words := a.s.cfg.goodbye(f.code, f.reason, &handled)
	if _, err := a.conn.Write(words); err != nil {
		a.fail(fmt.Errorf("%w: write: %w", ErrLost, err), CodeBroken)
		return
	}
	if err := a.conn.CloseWrite(); err != nil {
		a.fail(fmt.Errorf("%w: write: %w", ErrLost, err), CodeBroken)
	}
}

// handle hands on what arrives until the connection is over, or there is something for
// the reader to run.
func (a *attachment) handle() (f func(), _ error) {
	defer a.s.in.rest()
	asked := false // requests or replies came in this round
	for {
		if !a.conn.Frames.Buffered() {
			if asked && a.conn.own != nil {
				runtime.Gosched() // what those send whom they woke leaves in this round, too
			}
			asked = false
			a.s.in.rest()
			if f, a.s.in.last = a.s.in.last, nil; f != nil {
				return f, nil
			}
		}
		lane, k, body, err := a.conn.Frames.Next()
		if err != nil {
			return nil, a.ending(err)
		}
		if !a.s.in.round && a.conn.Frames.Buffered() {
			a.s.in.beginRound()
		}
		asked = asked || a.s.in.round && lane == wire.LaneRPC
		kept, err := a.s.in.frame(lane, k, body)
		if err != nil {
			return nil, err
		}
		if !kept {
			a.conn.Frames.Recycle()
		}
	}
}

// ending says what the end of the byte stream means.
func (a *attachment) ending(err error) error {
	switch {
	case a.cause() != nil:
		return a.cause()
	case errors.Is(err, wire.ErrMalformed), errors.Is(err, wire.ErrFrameTooLarge):
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case a.s.in.closed():
		return ErrLeft // the peer's end, or whatever it is, is the answer
	case err == io.EOF:
		return fmt.Errorf("%w: the peer ended the connection", ErrLost)
	}
	return fmt.Errorf("%w: read: %w", ErrLost, err)
}

// step is what the writer does next.
type step uint8

const (
	stepWait  step = iota // for a kick
	stepWrite             // head and spans
	stepLeave
	stepStop
)

// next is what the writer does next.
func (a *attachment) next() (do step, last *farewell) {
	failed := a.cause() != nil
	b := a.s.out
	var after after.List
	defer after.Run() // once mu is released
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &b.writer
	if w.inline {
		w.again = true
		return stepWait, nil
	}
	if failed || b.over {
		w.direct = nil
		return stepStop, nil
	}
	if w.loaded {
		w.loaded = false
		return stepWrite, nil
	}
	if len(a.spans) > 0 {
		b.log.wrote() // what was acknowledged meanwhile goes now
		b.grant(&after)
		a.noteWrite()
		w.pace.wrote(a.size, a.took)
		a.limit = w.pace.limit
	}
	a.load()
	if w.idle = len(a.spans) == 0 && len(a.head) == 0; !w.idle {
		return stepWrite, nil
	}
	w.pace.paused()
	if b.farewell != nil {
		return stepLeave, b.farewell
	}
	return stepWait, nil
}

// load takes what shall be written next. outbox.mu is held, as below.
func (a *attachment) load() {
	b := a.s.out
	clear(a.spans)
	a.head = append(a.head[:0], b.aside...)
	b.aside = b.aside[:0]
	a.spans = b.log.take(a.spans[:0], b.writer.pace.limit)
	a.acknowledge()
}

// acknowledge adds an Ack to what is written, where one is wanted.
func (a *attachment) acknowledge() {
	b := a.s.out
	if b.cfg.Forget || !b.ack.due && !(b.ack.ride && len(a.spans) > 0) {
		return
	}
	b.ack.ride, b.ack.due = false, false
	released := a.s.in.released()
	if released == b.ack.told {
		return
	}
	b.ack.told = released
	var body [wire.AckSize]byte
	a.head = wire.AppendFrame(a.head, wire.LaneCtl, wire.KindAck, wire.AppendAck(body[:0], released))
}

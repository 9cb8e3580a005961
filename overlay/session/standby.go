// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Last has f run on the goroutine that reads the connection, once what was read is
// handled and counted: that saves waking another goroutine for what is brief. Only
// Handler may call it, once in a call. It is false, and f does not run, if other
// messages have come together with the one that is handled, or with one of the last few:
// who waits behind f would have to wait for it.
//
// If f takes long after all, another goroutine reads on: see Standby. f must not wait for
// that of the same connection.
func Last(s *Session, f func()) bool {
	in := s.in
	switch {
	case !in.lasts:
		return false
	case in.round:
		in.lone = 0
		return false
	case in.lone < loneAfter:
		in.lone++
		return false
	}
	in.last = f
	return true
}

// loneAfter is how many messages in a row must have come alone before one is for Last.
// Where several are under way at a time, workers handle them beside each other, and what
// they answer leaves together.
const loneAfter = 8

// standbyTick is how often readers that run something are looked at: who runs the same
// for one to two ticks does not read on.
const standbyTick = 2 * time.Millisecond

// Standby has other goroutines read on where those that read connections run for long
// what Last gave them. One does for all sessions of a program. Its timer runs only while
// a reader runs something. All methods may be called concurrently.
type Standby struct {
	clock Clock
	armed atomic.Bool // the timer runs

	mu    sync.Mutex
	turns []*turns // guarded by mu: of the connections whose readers have run something
}

// NewStandby returns a Standby that looks at readers by that clock.
func NewStandby(clock Clock) *Standby { return &Standby{clock: clock} }

// turns are those of one connection's readers: whoever reads has the turn, and loses it
// while it runs something for too long.
type turns struct {
	standby *Standby
	replace func()        // has another goroutine read on
	over    chan error    // why nobody reads any more; has room
	number  uint64        // owned by who has the turn: of what it ran last
	running atomic.Uint64 // which one runs; 0 = none, or who runs it has lost the turn

	seen uint64 // guarded by Standby.mu: running at the tick before
}

// join adds a connection, until leave.
func (s *Standby) join(replace func()) *turns {
	t := &turns{standby: s, replace: replace, over: make(chan error, 1)}
	s.mu.Lock()
	s.turns = append(s.turns, t)
	s.mu.Unlock()
	return t
}

func (s *Standby) leave(t *turns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = slices.DeleteFunc(s.turns, func(each *turns) bool { return each == t })
}

// begin notes that the reader runs something, until end, which is given the number.
func (t *turns) begin() (number uint64) {
	t.number++
	number = t.number
	t.running.Store(number)
	t.standby.arm()
	return number
}

// end says whether who has begun that reads on.
func (t *turns) end(number uint64) bool { return t.running.CompareAndSwap(number, 0) }

// arm starts the timer, if it does not run.
func (s *Standby) arm() {
	if !s.armed.Load() && s.armed.CompareAndSwap(false, true) {
		s.clock.AfterFunc("session/standby", standbyTick, s.tick)
	}
}

// tick is what the timer calls.
func (s *Standby) tick() {
	late, busy := s.look()
	for _, t := range late {
		t.replace()
	}
	if busy {
		s.clock.AfterFunc("session/standby", standbyTick, s.tick)
		return
	}
	s.armed.Store(false)
	if s.busy() { // since
		s.arm()
	}
}

// look takes the turn from readers that have run the same since the tick before, and
// says whether others run something.
func (s *Standby) look() (late []*turns, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		switch n := t.running.Load(); {
		case n == 0:
		case n != t.seen:
			t.seen, busy = n, true
		case t.running.CompareAndSwap(n, 0):
			late = append(late, t)
		}
	}
	return late, busy
}

// busy says whether any reader runs something.
func (s *Standby) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.running.Load() != 0 {
			return true
		}
	}
	return false
}

// read hands on what arrives until the connection is over. The first time that there is
// something to run Run's caller waits from then on, and another goroutine reads: whoever
// reads can be replaced, and what runs for long keeps nobody from ending the connection.
func (a *attachment) read() error {
	a.s.in.lasts = a.conn.own != nil && a.s.cfg.Standby != nil
	f, err := a.handle()
	if f == nil {
		return err
	}
	standby := a.s.cfg.Standby
	a.turns = standby.join(func() { a.readElsewhere(nil) })
	defer standby.leave(a.turns)
	a.readElsewhere(f)
	return <-a.turns.over
}

// readElsewhere has another goroutine run f, if it is not nil, and read on.
func (a *attachment) readElsewhere(f func()) {
	if a.s.cfg.Go(func() { a.readOn(f) }) {
		return
	}
	if f != nil {
		f()
	}
	a.turns.over <- ErrDown // everything ends
}

// readOn runs f, if it is not nil, and reads on until the connection is over, or another
// goroutine does.
func (a *attachment) readOn(f func()) {
	for f == nil || a.run(f) {
		var err error
		if f, err = a.handle(); f == nil {
			a.turns.over <- err
			return
		}
	}
}

// run runs f, and says whether this goroutine reads on.
func (a *attachment) run(f func()) (on bool) {
	number, returned := a.turns.begin(), false
	defer func() { // f may end the goroutine, as a test that fails does
		if on = a.turns.end(number); on && !returned {
			a.turns.replace()
		}
	}()
	f()
	returned = true
	return true
}

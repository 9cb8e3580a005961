// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// timed counts the timers of readers.
type timed struct {
	realClock
	standby *atomic.Int64
}

func (c timed) AfterFunc(label string, d time.Duration, f func()) session.Timer {
	if label == "session/standby" {
		c.standby.Add(1)
	}
	return c.realClock.AfterFunc(label, d, f)
}

// gate is a connection whose writes wait while it is shut.
type gate struct {
	session.Conn
	shut chan struct{} // nil = open
}

func (g *gate) Write(p []byte) (int, error) {
	if g.shut != nil {
		<-g.shut
	}
	return g.Conn.Write(p)
}

// stage is a session over an owned connection whose reader runs something with every
// message, and who sends to it.
type stage struct {
	*testing.T
	reads, sends *end
	conn         *owned
	gate         *gate // at the end of who sends
	timers       atomic.Int64
	run          func(body string) // what Last is given
	took         []string          // for which Last was true; guarded by reads.mu
	sent         []string
}

// play runs f on a stage, in virtual time.
func play(t *testing.T, f func(s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		s := &stage{T: t, run: func(string) {}}
		standby := session.NewStandby(timed{standby: &s.timers})
		s.reads, s.sends = newEnd(t, &wg, func(c *session.Config) { c.Standby = standby }), newEnd(t, &wg)
		s.reads.handler = func(_ wire.Lane, _ wire.Kind, body []byte) bool {
			text := string(body)
			if session.Last(s.reads.Session, func() { s.run(text) }) {
				s.reads.mu.Lock()
				s.took = append(s.took, text)
				s.reads.mu.Unlock()
			}
			return true
		}
		x, y := net.Pipe()
		s.conn, s.gate = &owned{Conn: session.NetConn(x)}, &gate{Conn: session.NetConn(y)}
		carry(&wg, s.reads, s.sends, s.conn, s.gate)
		synctest.Wait()
		f(s)
		s.reads.End()
		s.sends.End()
		wg.Wait()
	})
}

// send sends that many messages, each once the one before it was handled.
func (s *stage) send(n int) {
	s.Helper()
	for range n {
		text := fmt.Sprint(len(s.sent))
		_, err := s.sends.Send(wire.LaneRPC, wire.KindRequest, []byte(text))
		require.NoError(s, err)
		s.sent = append(s.sent, text)
		synctest.Wait()
	}
}

// warm sends messages until the next one is for Last.
func (s *stage) warm() { s.send(8) }

func (s *stage) ran() int {
	s.reads.mu.Lock()
	defer s.reads.mu.Unlock()
	return len(s.took)
}

// This test checks that the goroutine that reads runs what Last is given once eight
// messages in a row have come alone, before it reads on, and that its timer is still
// while no reader runs anything.
func TestWhatComesAloneRunsWhereItWasRead(t *testing.T) {
	play(t, func(s *stage) {
		s.warm()
		require.Zero(t, s.ran(), "messages may come in numbers")
		require.Zero(t, s.timers.Load())
		hold := make(chan struct{})
		s.run = func(string) { <-hold }
		s.send(1)
		require.Equal(t, 1, s.ran())
		s.send(1)
		require.Len(t, s.reads.got(), 9, "nobody reads")
		close(hold)
		synctest.Wait()
		require.Equal(t, s.sent, s.reads.got())
		time.Sleep(time.Hour)
		timers := s.timers.Load()
		require.Positive(t, timers)
		time.Sleep(time.Hour)
		require.Equal(t, timers, s.timers.Load())
		s.send(1)
		require.Equal(t, 3, s.ran(), "after an hour, too")
	})
}

// This test checks that another goroutine reads on two ticks after a reader has begun to
// run something that does not end, again and again, that no message is lost, doubled or
// out of order, and that those who are late change nothing when they come.
func TestWhoRunsForLongDoesNotReadOn(t *testing.T) {
	play(t, func(s *stage) {
		s.warm()
		hold := make(chan struct{})
		s.run = func(string) { <-hold }
		for range 50 {
			s.send(1)
			s.send(1)
			require.Less(t, len(s.reads.got()), len(s.sent))
			time.Sleep(4 * time.Millisecond)
			synctest.Wait()
			require.Equal(t, s.sent, s.reads.got())
			time.Sleep(4 * time.Millisecond) // the second one ran, too
		}
		s.run = func(string) {}
		s.send(10)
		close(hold)
		synctest.Wait()
		s.send(10)
		require.Equal(t, s.sent, s.reads.got())
		require.Equal(t, len(s.sent)-8, s.ran())
	})
}

// This test checks that a connection that breaks, or a session that ends, is over within
// two ticks though what its reader runs does not end.
func TestWhatRunsForLongHoldsUpNoEnd(t *testing.T) {
	play(t, func(s *stage) {
		s.warm()
		hold := make(chan struct{})
		defer close(hold)
		s.run = func(string) { <-hold }
		s.send(1)
		s.reads.Break(session.ErrReplaced, session.CodeReplaced)
		began := time.Now()
		s.reads.Detach()
		require.LessOrEqual(t, time.Since(began), 4*time.Millisecond)
		require.ErrorIs(t, <-s.reads.errs, session.ErrReplaced)
		require.False(t, s.conn.driven.Load())
	})
}

// This test checks that a reader whose goroutine is ended by what it runs, as a failed
// test ends the one that it runs on, has another one read on.
func TestWhatEndsTheGoroutineEndsNoConnection(t *testing.T) {
	play(t, func(s *stage) {
		s.warm()
		s.run = func(string) { runtime.Goexit() }
		s.send(20)
		require.Equal(t, s.sent, s.reads.got())
		require.Equal(t, 20, s.ran())
	})
}

// This test checks that nothing is run by a reader while messages come together, nor
// soon after.
func TestWhatComesTogetherIsForOthers(t *testing.T) {
	play(t, func(s *stage) {
		s.warm()
		together := func() { // a first one, and two that wait behind it
			shut := make(chan struct{})
			s.gate.shut = shut
			for range 3 {
				_, err := s.sends.Send(wire.LaneRPC, wire.KindRequest, make([]byte, 100))
				require.NoError(t, err)
				synctest.Wait()
			}
			s.gate.shut = nil
			close(shut)
			synctest.Wait()
		}
		before := s.ran()
		for range 10 {
			together()
			s.send(1)
		}
		require.Equal(t, 1, s.ran()-before, "the very first one, which came alone")
		s.warm()
		s.send(1)
		require.Greater(t, s.ran(), before)
	})
}

// This test checks that a reader runs nothing where it does not own the connection, or
// its owner has no Standby.
func TestOnlyReadersThatCanBeReplacedRunAnything(t *testing.T) {
	for _, with := range []bool{false, true} {
		var standby *session.Standby
		if with {
			standby = session.NewStandby(realClock{})
		}
		pair(t, func(t *testing.T, a, b *end) {
			b.handler = func(wire.Lane, wire.Kind, []byte) bool {
				require.False(t, session.Last(b.Session, func() {}))
				return false
			}
			connect(a, b)
			for range 50 {
				_, err := a.Send(wire.LaneRPC, wire.KindRequest, []byte("x"))
				require.NoError(t, err)
				synctest.Wait()
			}
			require.Len(t, b.got(), 50)
		}, func(c *session.Config) { c.Standby = standby })
	}
}

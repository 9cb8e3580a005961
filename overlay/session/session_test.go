// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// end is one side of a test: a session, and what it was asked to do.
type end struct {
	*session.Session
	t       testing.TB
	wg      *sync.WaitGroup
	wakes   atomic.Int64 // of the writer
	writes  atomic.Int64
	handler session.Handler
	errs    chan error // of Run

	mu     sync.Mutex
	bodies []string
}

// Wake implements session.Waker.
func (e *end) Wake(k session.ExecKey, f func()) {
	if k.Name == "session/write" {
		e.wakes.Add(1)
	}
	f()
}

func (e *end) got() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.bodies...)
}

func newEnd(t testing.TB, wg *sync.WaitGroup, change ...func(*session.Config)) *end {
	e := &end{t: t, wg: wg, errs: make(chan error, 100)}
	cfg := session.Config{
		Seam: session.Seam{
			Clock: realClock{}, Exec: e, Rand: atOnce{}, Go: func(f func()) bool { wg.Go(f); return true },
		},
		Number: 1, ID: 7, Epoch: time.Now().Add(-1), Beat: 400 * time.Millisecond,
		LaneBytes: [wire.Lanes]int{1 << 20, 4 << 20, 4 << 20, 8 << 20}, MaxMessage: 16 << 20,
		Handler: func(lane wire.Lane, k wire.Kind, body []byte) bool {
			e.mu.Lock()
			e.bodies = append(e.bodies, string(body))
			e.mu.Unlock()
			return e.handler != nil && e.handler(lane, k, body)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	e.Session = session.New(cfg)
	return e
}

// counted is a connection that counts its writes.
type counted struct {
	net.Conn
	e *end
}

func (c counted) Write(p []byte) (int, error) {
	c.e.writes.Add(1)
	return c.Conn.Write(p)
}

// connect has a connection carry both sessions, and returns what breaks it.
func connect(a, b *end) (breaks func()) {
	x, y := net.Pipe()
	ours, theirs := a.Detach(), b.Detach()
	for _, s := range []struct {
		e        *end
		c        net.Conn
		received wire.Counts
	}{{a, x, theirs}, {b, y, ours}} {
		s.e.wg.Go(func() {
			err := s.e.Run(session.NewCarrier(session.NetConn(counted{s.c, s.e}), nil, nil), session.Greeting{Received: s.received})
			s.c.Close()
			s.e.errs <- err
		})
	}
	return func() { x.Close() }
}

// pair runs f with two connected ends.
func pair(t *testing.T, f func(t *testing.T, a, b *end), change ...func(*session.Config)) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		a, b := newEnd(t, &wg, change...), newEnd(t, &wg, change...)
		f(t, a, b)
		a.End()
		b.End()
		wg.Wait()
	})
}

// TestARoundTripCostsOneWriteEachWay proves that acknowledgements cost no write
// and no wake-up: neither for a request and its reply nor for a batch.
func TestARoundTripCostsOneWriteEachWay(t *testing.T) {
	const rounds = 1000
	pair(t, func(t *testing.T, a, b *end) {
		back := make(chan struct{})
		b.handler = func(_ wire.Lane, _ wire.Kind, body []byte) bool {
			_, err := b.Send(wire.LaneRPC, wire.KindReply, body)
			require.NoError(t, err)
			return false
		}
		a.handler = func(wire.Lane, wire.Kind, []byte) bool {
			back <- struct{}{}
			return false
		}
		connect(a, b)
		synctest.Wait()
		a.writes.Store(0)
		b.writes.Store(0)
		a.wakes.Store(0)
		b.wakes.Store(0)
		for range rounds {
			_, err := a.Send(wire.LaneRPC, wire.KindRequest, make([]byte, 1000))
			require.NoError(t, err)
			<-back
			synctest.Wait()
		}
		for _, e := range []*end{a, b} {
			require.LessOrEqual(t, e.writes.Load(), int64(rounds+1))
			require.LessOrEqual(t, e.wakes.Load(), int64(rounds+1))
		}
		t.Logf("%d round trips: %d and %d writes, %d and %d wake-ups of writers", rounds,
			a.writes.Load(), b.writes.Load(), a.wakes.Load(), b.wakes.Load())
		time.Sleep(time.Second)
		_, kept := a.Load(wire.LaneRPC)
		require.Zero(t, kept, "acknowledged in the end")
	})
}

// TestAcksAreFewWhereNothingGoesBack proves what one-way traffic costs the other
// way: a write for each quarter of a window, and one when it ends.
func TestAcksAreFewWhereNothingGoesBack(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		connect(a, b)
		synctest.Wait()
		b.writes.Store(0)
		for range 8 << 10 { // 8 MiB: two windows
			_, err := a.SendWait(t.Context(), wire.LanePub, wire.KindPublish, make([]byte, 1019))
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		require.Len(t, b.got(), 8<<10)
		require.LessOrEqual(t, b.writes.Load(), int64(10))
		_, kept := a.Load(wire.LanePub)
		require.Zero(t, kept)
	})
}

// TestEverythingArrivesOnceOverManyConnections proves the promise of a session:
// over breaks at any moment each message arrives once, in the order of its lane,
// large ones too.
func TestEverythingArrivesOnceOverManyConnections(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		breaks := connect(a, b)
		var want []string
		for i := range 300 {
			size := 8 + i*7%2000
			if i%10 == 0 {
				size = 200_000
			}
			body := binary.BigEndian.AppendUint64(nil, uint64(i))
			body = append(body, make([]byte, size)...)
			_, err := a.SendWait(t.Context(), wire.LanePub, wire.KindPublish, body)
			require.NoError(t, err)
			want = append(want, string(body))
			if i%7 == 3 {
				time.Sleep(time.Duration(i%5) * time.Millisecond)
				breaks()
				synctest.Wait()
				require.ErrorIs(t, <-a.errs, session.ErrLost)
				require.ErrorIs(t, <-b.errs, session.ErrLost)
				breaks = connect(a, b)
			}
		}
		synctest.Wait()
		require.Equal(t, want, b.got())
	})
}

// TestAFrameThatBreaksConnectionsEndsTheSession proves that a session gives up when
// three resumes in a row bring nothing further, and that for a second: not while it gets
// on or has nothing to send, nor where a line cuts ten connections within a moment.
func TestAFrameThatBreaksConnectionsEndsTheSession(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		for range 10 { // nothing waits
			breaks := connect(a, b)
			synctest.Wait()
			breaks()
			synctest.Wait()
			require.ErrorIs(t, <-a.errs, session.ErrLost)
		}
		_, err := a.Send(wire.LaneRPC, wire.KindRequest, []byte("poison"))
		require.NoError(t, err)
		for i := range 10 {
			require.ErrorIs(t, resume(a), session.ErrLost, i)
			time.Sleep(100 * time.Millisecond)
		}
		require.ErrorIs(t, resume(a), session.ErrPoison)
	})
}

// resume has a connection carry the session that breaks before anything is read.
func resume(a *end) error {
	x, y := net.Pipe()
	y.Close()
	return a.Run(session.NewCarrier(session.NetConn(x), nil, nil), session.Greeting{})
}

// TestASlowlyBrokenConnectionIsNoPoison proves that a session does not give up before the
// third resume that brings nothing further, however long that takes.
func TestASlowlyBrokenConnectionIsNoPoison(t *testing.T) {
	pair(t, func(t *testing.T, a, _ *end) {
		_, err := a.Send(wire.LaneRPC, wire.KindRequest, []byte("poison"))
		require.NoError(t, err)
		for i := range 4 {
			require.ErrorIs(t, resume(a), []error{session.ErrLost, session.ErrLost, session.ErrLost, session.ErrPoison}[i])
			time.Sleep(2 * time.Second)
		}
	})
}

// TestGoodbyeSaysWhatWasHandled proves that after a goodbye nothing is handled
// beyond what it says, and that the other side can take back just that.
func TestGoodbyeSaysWhatWasHandled(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		enter, leave := make(chan struct{}), make(chan struct{})
		b.handler = func(wire.Lane, wire.Kind, []byte) bool {
			enter <- struct{}{}
			<-leave
			return false
		}
		connect(a, b)
		synctest.Wait()
		var receipts []session.Receipt
		for range 3 {
			r, err := a.Send(wire.LaneRPC, wire.KindRequest, []byte("x"))
			require.NoError(t, err)
			receipts = append(receipts, r)
		}
		<-enter // the first is being handled
		b.Leave(session.CodeShutdown, "bye")
		synctest.Wait()
		leave <- struct{}{}
		var bye *session.GoodbyeError
		require.True(t, errors.As(<-a.errs, &bye))
		require.Equal(t, "bye", bye.Reason)
		require.ErrorIs(t, <-b.errs, session.ErrLeft)
		require.Len(t, b.got(), 1)
		a.End()
		require.False(t, a.Withdraw(receipts[0]))
		require.True(t, a.Withdraw(receipts[1]))
		require.True(t, a.Withdraw(receipts[2]))
	})
}

// TestHeldAcksAreTheReceiversPushBack proves that a lane whose acknowledgements
// are held takes no more than its window until its messages are released, also
// over a broken connection, and that nothing arrives twice.
func TestHeldAcksAreTheReceiversPushBack(t *testing.T) {
	small := func(c *session.Config) {
		c.LaneBytes[wire.LanePub] = 10_000
	}
	pair(t, func(t *testing.T, a, b *end) {
		var seen atomic.Int32
		b.handler = func(wire.Lane, wire.Kind, []byte) bool { seen.Add(1); b.Hold(); return false }
		breaks := connect(a, b)
		sent := 0
		send := func() {
			for {
				if _, err := a.Send(wire.LanePub, wire.KindPublish, make([]byte, 995)); err != nil {
					return
				}
				sent++
				time.Sleep(time.Second)
			}
		}
		send()
		require.Equal(t, 10, sent)
		require.EqualValues(t, 10, seen.Load())
		breaks()
		synctest.Wait()
		connect(a, b)
		send()
		require.Equal(t, 10, sent, "received, but not released")
		b.Release(wire.LanePub, 10)
		synctest.Wait()
		send()
		require.Equal(t, 20, sent)
		require.EqualValues(t, 20, seen.Load())
	}, small)
}

// TestAFullWindowNeverWaitsForATimer proves that whoever waits for room goes on as
// soon as the peer has done something, whatever releases it: ten windows leave
// without any time passing.
func TestAFullWindowNeverWaitsForATimer(t *testing.T) {
	release := func(s *session.Session, n int) { s.Release(wire.LanePub, n) }
	for name, c := range map[string]struct {
		held bool
		done func(b *end, n int) // what the handler does with its n-th message
	}{
		"the handler's return": {false, func(*end, int) {}},
		"one by one":           {true, func(b *end, _ int) { release(b.Session, 1) }},
		"one by one, later":    {true, func(b *end, _ int) { b.wg.Go(func() { release(b.Session, 1) }) }},
		"many at once": {true, func(b *end, n int) {
			if n%16 == 0 {
				release(b.Session, 16)
			}
		}},
		"some of them": {false, func(b *end, n int) {
			if n%3 == 0 {
				b.Hold()
				b.wg.Go(func() { release(b.Session, 1) })
			}
		}},
	} {
		for _, window := range []int{64 << 10, 1 << 20} {
			change := func(cfg *session.Config) {
				cfg.LaneBytes[wire.LanePub] = window
			}
			pair(t, func(t *testing.T, a, b *end) {
				n := 0
				b.handler = func(wire.Lane, wire.Kind, []byte) bool {
					n++
					if c.held {
						b.Hold()
					}
					c.done(b, n)
					return false
				}
				connect(a, b)
				synctest.Wait()
				began := time.Now()
				for range 10 * window / 1000 {
					_, err := a.SendWait(t.Context(), wire.LanePub, wire.KindPublish, make([]byte, 1000))
					require.NoError(t, err)
				}
				require.Zero(t, time.Since(began), "%s, %d bytes", name, window)
			}, change)
		}
	}
}

// TestASilentPeerIsSuspectByItsRoundTrip proves that patience follows the round
// trip, and that a connection that stays silent is given up.
func TestASilentPeerIsSuspectByItsRoundTrip(t *testing.T) {
	for rtt, patience := range map[time.Duration]time.Duration{
		time.Millisecond:        1200 * time.Millisecond,
		100 * time.Millisecond:  1200 * time.Millisecond,
		800 * time.Millisecond:  2800 * time.Millisecond,
		1500 * time.Millisecond: 4900 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			var wg sync.WaitGroup
			a := newEnd(t, &wg)
			x, y := net.Pipe()
			wg.Go(func() { // takes everything, says nothing
				for b := make([]byte, 1000); ; {
					if _, err := y.Read(b); err != nil {
						return
					}
				}
			})
			now := uint64(10 * time.Second)
			wg.Go(func() {
				a.errs <- a.Run(session.NewCarrier(session.NetConn(x), nil, nil), session.Greeting{
					Sample: session.Sample{Sent: now - uint64(rtt), Got: now, Remote: 1},
				})
			})
			synctest.Wait()
			require.Equal(t, rtt, a.RTT())
			began := time.Now()
			a.Want(func() bool { return true })
			for !a.Silent() {
				time.Sleep(time.Millisecond)
			}
			require.InDelta(t, patience, time.Since(began), float64(2*time.Millisecond))
			require.ErrorIs(t, <-a.errs, session.ErrSilent)
			require.InDelta(t, 10*time.Second, time.Since(began), float64(2*time.Millisecond))
			a.End()
			y.Close()
			wg.Wait()
		})
	}
}

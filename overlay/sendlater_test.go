// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// told is what SendLater has said.
type told struct {
	mu    sync.Mutex
	times int
	at    overlay.Receipt
	err   error
}

func (s *told) sent(r overlay.Receipt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	s.at, s.err = r, err
}

func (s *told) get() (times int, at overlay.Receipt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times, s.at, s.err
}

// fullLane makes a link whose lane pub takes no more messages of 300 bytes.
func fullLane(t *testing.T) (a, b *node, l *overlay.Link, s *memStream) {
	net := newMemNet()
	a, b = startNode(t, net, low, func(c *overlay.Config) {
		c.LaneBytes[overlay.LanePub], c.LaneBytes[overlay.LaneBulk] = 1000, 1000
	}), startNode(t, net, high)
	l = a.wait(high)
	synctest.Wait()
	s = a.transport.open()[0]
	s.out.freeze()
	for i := range 3 {
		_, err := l.Send(overlay.LanePub, kindA, numbered("first", i))
		require.NoError(t, err)
		synctest.Wait()
	}
	return a, b, l, s
}

func numbered(name string, i int) []byte { return fmt.Appendf(nil, "%-9s%0291d", name, i) }

// publish waits for room until body is sent, and returns how often.
func publish(t *testing.T, l *overlay.Link, body []byte) (waits int) {
	done := func() {}
	for {
		_, err := l.Send(overlay.LanePub, kindA, body)
		done()
		if err == nil {
			return waits
		}
		require.ErrorIs(t, err, overlay.ErrLaneFull)
		waits++
		done, err = l.WaitRoom(t.Context(), overlay.LanePub, len(body))
		require.NoError(t, err)
	}
}

// This test has many more wait for room than there is: each waits about once,
// and they come in their order; they did not, and spun, when all of them looked
// whenever there was room.
func TestManyWhoWaitForRoomDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, l, s := fullLane(t)
		const publishers, each = 100, 20
		var wg sync.WaitGroup
		var waits atomic.Int64
		for i := range publishers {
			wg.Go(func() {
				for n := range each {
					waits.Add(int64(publish(t, l, numbered("publisher", i*each+n))))
				}
			})
		}
		synctest.Wait()
		s.out.thaw()
		wg.Wait()
		synctest.Wait()
		require.Len(t, b.bodies(), 3+publishers*each)
		require.LessOrEqual(t, waits.Load(), int64(2*publishers*each))
		t.Logf("%d waits for %d messages", waits.Load(), publishers*each)
	})
}

// This test checks that who has waited for room and sends nothing keeps nobody
// from it: those who give up, the end of ctx, of the session.
func TestAVisitorLeavesTheRoomToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, l, s := fullLane(t)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				done, err := l.WaitRoom(t.Context(), overlay.LanePub, 300)
				require.NoError(t, err)
				done()
				done()
			})
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := l.WaitRoom(ctx, overlay.LanePub, 900)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		synctest.Wait()
		var is told
		_, err := l.SendLater(overlay.LanePub, kindA, is.sent, []byte("in line"))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		s.out.thaw()
		wg.Wait()
		synctest.Wait()
		require.Equal(t, "in line", b.bodies()[3])

		s.out.freeze()
		for i := range 3 {
			_, err := l.Send(overlay.LanePub, kindA, numbered("again", i))
			require.NoError(t, err)
			synctest.Wait()
		}
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				_, err := l.WaitRoom(t.Context(), overlay.LanePub, 300)
				ended <- err
			}()
		}
		synctest.Wait()
		require.NoError(t, b.Close())
		for range cap(ended) {
			require.ErrorIs(t, <-ended, overlay.ErrLinkDown)
		}
	})
}

// This test checks that a message that stands in line is sent in its turn,
// however many others would take the room whenever there is some.
func TestWhoStandsInLineIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, l, s := fullLane(t)
		const publishers, each = 8, 50
		var wg sync.WaitGroup
		for i := range publishers {
			wg.Go(func() {
				for n := range each {
					publish(t, l, numbered("publisher", i*each+n))
				}
			})
		}
		synctest.Wait()
		var is told
		_, err := l.SendLater(overlay.LanePub, kindA, is.sent, []byte("in line"))
		require.NoError(t, err)
		times, _, _ := is.get()
		require.Zero(t, times)
		s.out.thaw()
		wg.Wait()
		synctest.Wait()
		times, session, err := is.get()
		require.NoError(t, err)
		require.Equal(t, 1, times)
		require.Equal(t, l.Session(), session.Session)
		got := b.bodies()
		require.Len(t, got, 3+publishers*each+1)
		at := slices.Index(got, "in line")
		require.Positive(t, at)
		require.LessOrEqual(t, at, 3+2*publishers, "behind those who stood there before, and not many more")
	})
}

// This test checks that there is nothing to wait for where there is room, and
// that errors that are known are told at once.
func TestSendLaterSendsAtOnceIfItCan(t *testing.T) {
	between(t, func(t *testing.T, _ *memNet, a, b *node) {
		var is told
		_, err := a.Link(high).SendLater(overlay.LanePub, kindA, is.sent, nil)
		require.ErrorIs(t, err, overlay.ErrLinkDown)
		l := a.wait(high)
		withdraw, err := l.SendLater(overlay.LanePub, kindA, is.sent, []byte("x"), []byte("y"))
		require.NoError(t, err)
		times, _, err := is.get()
		require.NoError(t, err)
		require.Equal(t, 1, times)
		require.False(t, withdraw())
		large := strings.Repeat("z", 200<<10)
		withdraw, err = l.SendLater(overlay.LanePub, kindA, is.sent, []byte(large))
		require.NoError(t, err)
		require.False(t, withdraw())
		synctest.Wait()
		times, _, err = is.get()
		require.NoError(t, err)
		require.Equal(t, 2, times)
		require.Equal(t, []string{"xy", large}, b.bodies())
		_, err = l.SendLater(overlay.LanePub, kindA, is.sent, make([]byte, 1<<30))
		require.ErrorIs(t, err, overlay.ErrTooLarge)
		require.NoError(t, a.Close())
		_, err = l.SendLater(overlay.LanePub, kindA, is.sent, nil)
		require.True(t, errors.Is(err, overlay.ErrClosed) || errors.Is(err, overlay.ErrLinkDown))
	})
}

// This test takes a message back that stands in line: it is not sent, nobody is
// told, and whoever stands behind it has its place.
func TestWhatIsWithdrawnIsNotSent(t *testing.T) {
	for name, size := range map[string]int{"small": 900, "large": 200 << 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, b, l, s := fullLane(t)
				if size > 1000 { // the first large one finds an empty lane
					_, err := l.Send(overlay.LaneBulk, kindA, make([]byte, size))
					require.NoError(t, err)
				}
				var first, second told
				withdraw, err := l.SendLater(overlay.LanePub, kindA, first.sent, make([]byte, size))
				require.NoError(t, err)
				_, err = l.SendLater(overlay.LanePub, kindA, second.sent, append(make([]byte, size-1), '2'))
				require.NoError(t, err)
				require.True(t, withdraw())
				require.True(t, withdraw())
				s.out.thaw()
				synctest.Wait()
				times, _, _ := first.get()
				require.Zero(t, times)
				times, _, err = second.get()
				require.NoError(t, err)
				require.Equal(t, 1, times)
				require.True(t, withdraw())
				got := b.bodies()
				require.Equal(t, 1, len(slices.DeleteFunc(got, func(s string) bool { return !strings.HasSuffix(s, "2") || len(s) != size })))
			})
		})
	}
}

// This test checks that who stands in line is told when the session ends, and
// that room that was given to him is not lost to others.
func TestTheEndOfASessionEndsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, l, _ := fullLane(t)
		var is [3]told
		for i := range is {
			_, err := l.SendLater(overlay.LanePub, kindA, is[i].sent, numbered("in line", i))
			require.NoError(t, err)
		}
		require.NoError(t, b.Close())
		time.Sleep(time.Second) // the process is gone
		for i := range is {
			times, session, err := is[i].get()
			require.Equal(t, 1, times)
			require.Zero(t, session)
			require.ErrorIs(t, err, overlay.ErrLinkDown)
		}
	})
}

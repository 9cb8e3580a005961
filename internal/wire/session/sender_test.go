// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// conn records writes. Only what Sender uses is there.
type conn struct {
	net.Conn
	mu     sync.Mutex
	gate   chan struct{} // a write waits for one element, if not nil
	writes [][]byte
	fail   error
	partly int // bytes that a failing write takes nevertheless
}

func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) Write(b []byte) (int, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.partly, c.fail
	}
	c.writes = append(c.writes, bytes.Clone(b))
	return len(b), nil
}

func run(s *session.Sender, c net.Conn) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Run(c, time.Second) }()
	return done
}

// This test checks that frames queued while a write is under way leave
// together in the next one.
func TestQueuedFramesLeaveInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(1<<20, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Ping{Token: 0}))
		synctest.Wait()
		var want []byte
		for i := range 100 {
			p := &session.Ping{Token: uint64(i)}
			require.NoError(t, s.Send(p))
			want = append(want, encoded(t, p)...)
		}
		s.Finish()
		close(c.gate)
		require.NoError(t, <-done)
		require.Len(t, c.writes, 2)
		require.Equal(t, want, c.writes[1])
		require.ErrorIs(t, s.Send(&session.Ping{}), session.ErrSenderClosed)
	})
}

// This test checks that order holds between frames whose bodies are copied
// and frames whose bodies are only referenced.
func TestLargeBodiesKeepTheirPlace(t *testing.T) {
	s := session.NewSender(1<<24, session.MaxFrame)
	var want bytes.Buffer
	for i := range 20 {
		r := &session.Request{ID: uint64(i), Body: bytes.Repeat([]byte{byte(i)}, i%3*600_000+i)}
		want.Write(encoded(t, r))
		require.NoError(t, s.Send(r))
	}
	require.Equal(t, want.Len(), s.Queued())
	c := &conn{}
	s.Finish()
	require.NoError(t, <-run(s, c))
	require.True(t, bytes.Equal(want.Bytes(), bytes.Join(c.writes, nil)))
	require.Equal(t, uint64(want.Len()), s.Written())
	for _, w := range c.writes {
		require.LessOrEqual(t, len(w), 144<<10)
	}
}

// This test checks the bound: a full queue refuses a frame, keeps some room for
// those that must not be lost, and takes one frame of any size when empty.
func TestAFullQueueRefuses(t *testing.T) {
	s := session.NewSender(1000, session.MaxFrame)
	require.NoError(t, s.Send(&session.Request{Body: make([]byte, 5000)}))
	require.ErrorIs(t, s.Send(&session.Ping{}), session.ErrQueueFull)
	require.NoError(t, s.SendReserved(&session.Ping{}))
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 1<<20, "the reserve has no end")
		err = s.SendReserved(&session.Ping{})
	}
	require.ErrorIs(t, err, session.ErrQueueFull)
	require.Less(t, s.Queued(), 2<<20)
}

// This test checks that SendWait waits for room, and no longer than its
// context or the Sender lives.
func TestSendWaitWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(100, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Request{Body: make([]byte, 100)}))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.SendWait(ctx, &session.Ping{})
		require.ErrorIs(t, err, context.DeadlineExceeded)

		sent := make(chan error, 2)
		send := func(f session.Frame) {
			_, err := s.SendWait(t.Context(), f)
			sent <- err
		}
		go send(&session.Ping{})
		synctest.Wait()
		require.Empty(t, sent)
		c.gate <- struct{}{}
		require.NoError(t, <-sent)

		synctest.Wait() // the ping is being written now
		require.NoError(t, s.Send(&session.Ping{}))
		go send(&session.Request{Body: make([]byte, 100)})
		synctest.Wait()
		require.Empty(t, sent)
		s.Close()
		require.ErrorIs(t, <-sent, session.ErrSenderClosed)
		close(c.gate)
		require.NoError(t, <-done)
	})
}

// This test checks that a failed write ends Run with its error and closes the
// queue.
func TestAFailedWriteEndsTheSender(t *testing.T) {
	broken := errors.New("broken")
	s := session.NewSender(100, session.MaxFrame)
	require.NoError(t, s.Send(&session.Ping{}))
	require.ErrorIs(t, <-run(s, &conn{fail: broken}), broken)
	require.ErrorIs(t, s.Send(&session.Ping{}), session.ErrSenderClosed)
	_, err := s.SendWait(t.Context(), &session.Ping{})
	require.ErrorIs(t, err, session.ErrSenderClosed)
}

// This test checks that it is known which frames the other side can't have
// seen whole, so that they may be sent again.
func TestWhatWasNotWrittenIsKnown(t *testing.T) {
	s := session.NewSender(1<<20, session.MaxFrame)
	var ends []uint64
	for range 3 {
		end, err := s.SendWait(t.Context(), &session.Ping{})
		require.NoError(t, err)
		ends = append(ends, end)
	}
	frame := uint64(len(encoded(t, &session.Ping{})))
	require.Equal(t, []uint64{frame, 2 * frame, 3 * frame}, ends)
	c := &conn{fail: errors.New("broken"), partly: int(2*frame + 1)}
	require.Error(t, <-run(s, c))
	require.Equal(t, 2*frame+1, s.Written())
}

// This test checks that a frame that can't be sent leaves the queue as it was.
func TestARefusedFrameLeavesNoBytes(t *testing.T) {
	s := session.NewSender(1<<20, 100)
	require.NoError(t, s.Send(&session.Ping{Token: 1}))
	require.ErrorIs(t, s.Send(&session.Request{Body: make([]byte, 101)}), session.ErrFrameTooLarge)
	require.ErrorIs(t, s.Send(&session.Request{Headers: []session.Header{{Key: string(make([]byte, 256))}}}), session.ErrFieldTooLarge)
	require.NoError(t, s.Send(&session.Ping{Token: 2}))
	s.Finish()
	c := &conn{}
	require.NoError(t, <-run(s, c))
	require.Equal(t, append(encoded(t, &session.Ping{Token: 1}), encoded(t, &session.Ping{Token: 2})...), bytes.Join(c.writes, nil))
}

// This test checks what it costs to send a small frame: nothing per byte, and
// no allocation but the frame itself.
func TestSendingAllocatesNothing(t *testing.T) {
	s := session.NewSender(1<<30, session.MaxFrame)
	f := &session.Request{ID: 1, Cluster: "geo", Headers: []session.Header{{Key: "k", Value: "v"}}, Body: make([]byte, 1024)}
	for range 2000 {
		require.NoError(t, s.Send(f)) // let the buffer grow
	}
	require.Less(t, testing.AllocsPerRun(200, func() {
		if s.Send(f) != nil {
			panic("BUG: queue full")
		}
	}), 0.5)
}

// This test checks what it costs to decode a request: itself and its strings.
func TestDecodingARequestAllocatesLittle(t *testing.T) {
	b := encoded(t, &session.Request{ID: 1, Cluster: "geo", Body: make([]byte, 1024)})[5:]
	require.LessOrEqual(t, testing.AllocsPerRun(200, func() {
		if _, err := session.Decode(session.KindRequest, b); err != nil {
			panic(err)
		}
	}), 3.0)
}

// This test checks that a long queue of small frames, which takes more than one
// buffer, leaves whole and in order, and that it does not cost much more than
// its bytes.
func TestALongQueueOfSmallFramesKeepsItsOrder(t *testing.T) {
	const frames, size = 5000, 1 << 10
	s := session.NewSender(16<<20, session.MaxFrame)
	body := make([]byte, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range frames {
		require.NoError(t, s.Send(&session.Request{ID: uint64(i), Cluster: "geo", Body: body}))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*frames*(size+100)))
	c := &conn{}
	s.Finish()
	require.NoError(t, s.Run(c, time.Second))
	r := session.NewReader(bytes.NewReader(bytes.Join(c.writes, nil)), session.MaxFrame)
	for i := range frames {
		k, b, err := r.Next()
		require.NoError(t, err)
		f, err := session.Decode(k, b)
		require.NoError(t, err)
		require.Equal(t, uint64(i), f.(*session.Request).ID)
	}
}

// This test lets somebody with a large frame wait for room, and others with
// small ones come again and again: none of them is before the large one, and
// all leave in the order in which they came, before any of them wakes up.
func TestWhoWaitsIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, late = 1000, 50
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(limit, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Request{Body: make([]byte, limit/2)}))
		synctest.Wait() // it is being written
		sent := make(chan error)
		wait := func(f session.Frame) {
			go func() {
				_, err := s.SendWait(t.Context(), f)
				sent <- err
			}()
			synctest.Wait()
		}
		wait(&session.Request{ID: 1, Body: make([]byte, limit*3/4)})
		for i := range uint64(late) {
			require.ErrorIs(t, s.Send(&session.Ping{}), session.ErrQueueFull)
			wait(&session.Ping{Token: i})
		}
		close(c.gate)
		synctest.Wait()
		for range late + 1 {
			require.NoError(t, <-sent)
		}
		s.Finish()
		require.NoError(t, <-done)
		r := session.NewReader(bytes.NewReader(bytes.Join(c.writes[1:], nil)), session.MaxFrame)
		k, _, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, session.KindRequest, k)
		for i := range uint64(late) {
			k, b, err := r.Next()
			require.NoError(t, err)
			f, err := session.Decode(k, b)
			require.NoError(t, err)
			require.Equal(t, &session.Ping{Token: i}, f)
		}
	})
}

// This test lets whoever is first in the line go: those behind it, who need
// less, are served at once.
func TestWhoGivesUpIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(1000, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Request{Body: make([]byte, 500)}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := s.SendWait(ctx, &session.Request{Body: make([]byte, 700)})
			first <- err
		}()
		synctest.Wait()
		go func() {
			_, err := s.SendWait(t.Context(), &session.Ping{})
			second <- err
		}()
		synctest.Wait()
		require.Empty(t, second)
		require.ErrorIs(t, <-first, context.DeadlineExceeded)
		synctest.Wait()
		require.NoError(t, <-second)
		require.NoError(t, s.Send(&session.Ping{}))
		s.Finish()
		close(c.gate)
		require.NoError(t, <-done)
		require.EqualValues(t, 500+len(encoded(t, &session.Request{}))+2*len(encoded(t, &session.Ping{})), s.Written())
	})
}

// This test lets publishers and calls wait for room together: whoever has a
// call takes one place at a time, so that it is worth a publisher's try.
func TestALineLeavesRoomForWhoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(1000, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Request{Body: make([]byte, 1000)}))
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { s.SendWait(t.Context(), &session.Request{Body: make([]byte, 200)}) })
		}
		synctest.Wait()
		_, room, err := s.TrySend(&session.Request{Body: make([]byte, 200)})
		require.ErrorIs(t, err, session.ErrQueueFull)
		c.gate <- struct{}{}
		<-room
		_, _, err = s.TrySend(&session.Request{Body: make([]byte, 200)})
		require.NoError(t, err)
		close(c.gate)
		calls.Wait()
		s.Finish()
		require.NoError(t, <-done)
	})
}

// This test waits for room at a connection that takes little, but always
// something in time, and then nothing any more: who waits is told only then.
func TestSendWhileReadWaitsForWhoReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience, piece = time.Second, 144 << 10
		c := &conn{gate: make(chan struct{})}
		s := session.NewSender(100, session.MaxFrame)
		done := run(s, c)
		require.NoError(t, s.Send(&session.Request{Body: make([]byte, 20*piece)}))
		c.gate <- struct{}{} // what is before the body
		began := time.Now()
		go func() {
			for range 9 {
				time.Sleep(patience * 95 / 100)
				c.gate <- struct{}{}
			}
		}()
		_, err := s.SendWhileRead(t.Context(), &session.Ping{}, patience)
		require.ErrorIs(t, err, session.ErrQueueFull)
		require.Equal(t, 96*patience/10, time.Since(began)) // from the look at 8.6 on
		s.Close()
		close(c.gate)
		require.NoError(t, <-done)
	})
}

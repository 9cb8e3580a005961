// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
)

// This test checks that Shutdown finishes what handlers have begun, that those
// may still make calls, that nothing new is accepted, and that the relay hears
// Goodbye.
func TestShutdownFinishesWhatWasAccepted(t *testing.T) {
	d := newDesk(t)
	var last atomic.Pointer[wire.Leave]
	replied := make(chan struct{})
	d.answer = func(s *session.Session, k wire.Kind, body []byte) bool {
		switch k {
		case wire.KindLeave: // is answered when the member's requests are
			m := read(d, body, wire.DecodeLeave)
			last.Store(&m)
			return true
		case wire.KindReply:
			d.handle(s, k, body)
			d.says(s, wire.Done{ID: last.Load().ID})
			close(replied)
			return true
		}
		return false
	}
	d.open()
	c := d.client()
	handling, release := make(chan struct{}), make(chan struct{})
	serve(t, c, "geo", func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-release
		return c.Request(ctx, "helper", patterns.Message{Body: r.Body})
	})
	d.request(1, 7, "hi")
	<-handling
	ended := beside(func() error { return c.Shutdown(t.Context()) })
	eventually(t, func() bool { return last.Load() != nil }, "the member does not leave")
	_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	_, err = c.Subscribe(t.Context(), "geo", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.Empty(t, ended)
	close(release)
	<-replied
	require.NoError(t, <-ended)
	reply := d.all(wire.KindReply)[0].(wire.Reply)
	require.Equal(t, uint64(7), reply.ID)
	require.Equal(t, wire.OutcomeReply, reply.Outcome)

	_, err = c.Request(t.Context(), "helper", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	_, err = c.Members(t.Context(), "helper")
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.ErrorIs(t, c.Publish(t.Context(), "a", patterns.Message{}), patterns.ErrClosed)
	require.ErrorIs(t, c.TryPublish("a", patterns.Message{}), patterns.ErrClosed)
	require.NoError(t, c.Shutdown(t.Context()))
	require.NoError(t, c.Close())
	require.ErrorIs(t, d.left(), session.ErrGoodbye)
}

// This test checks that a Shutdown which can't finish ends with its context, and
// that the relay is told to end at once what it was told to end in good order.
func TestShutdownEndsWithItsContext(t *testing.T) {
	d := newDesk(t)
	var leaves atomic.Int32
	d.on(wire.KindLeave, func(*session.Session, []byte) bool {
		leaves.Add(1)
		return true
	})
	d.open()
	c := d.client()
	ended := make(chan struct{})
	serve(t, c, "geo", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		<-ctx.Done() // until the client closes
		close(ended)
		return patterns.Message{}, ctx.Err()
	})
	d.request(1, 7, "hi")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Shutdown(ctx), context.DeadlineExceeded)
	<-ended
	require.Equal(t, int32(2), leaves.Load())
}

// This test checks that Close ends calls that wait, with the outcome that is
// true, and that it may be called by many.
func TestCloseEndsCallsHonestly(t *testing.T) {
	d := newDesk(t)
	asked := make(chan struct{}, 1)
	d.on(wire.KindRequest, func(*session.Session, []byte) bool {
		asked <- struct{}{}
		return true
	})
	d.open()
	for _, opts := range [][]patterns.RequestOption{nil, {patterns.Idempotent()}} {
		c := d.client()
		outcome := beside(func() error { return ask(t, c, opts...) })
		<-asked
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { c.Close() })
		}
		wg.Wait()
		require.ErrorIs(t, <-outcome, patterns.ErrInterrupted)
	}

	c := d.client()
	d.stop()
	eventually(t, func() bool { return errors.Is(c.TryPublish("a", patterns.Message{}), patterns.ErrWouldBlock) }, "the session does not end")
	outcome := beside(func() error { return ask(t, c) })
	time.Sleep(10 * time.Millisecond) // most likely it waits now; both orders are right
	_ = c.Close()
	require.ErrorIs(t, <-outcome, patterns.ErrClosed)
}

// This test checks that a registration's Close is idempotent, ends with its
// context, and needs no relay.
func TestARegistrationCanBeClosed(t *testing.T) {
	d := newDesk(t)
	release, leaving := make(chan struct{}), make(chan struct{})
	d.on(wire.KindLeave, func(s *session.Session, body []byte) bool {
		if read(d, body, wire.DecodeLeave).ID != 1 {
			return false
		}
		close(leaving)
		d.wg.Go(func() {
			<-release
			d.handle(s, wire.KindLeave, body)
		})
		return true
	})
	d.open()
	c := d.client()
	reg, other := serve(t, c, "geo", echo), serve(t, c, "other", echo)
	require.Len(t, reg.Member(), 16)
	ended := beside(func() error { return reg.Close(t.Context()) })
	<-leaving
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, reg.Close(ctx), context.DeadlineExceeded, "a second one has a context of its own")
	close(release)
	require.NoError(t, <-ended)
	require.NoError(t, reg.Close(t.Context()))

	d.stop()
	require.NoError(t, other.Close(t.Context()))
	d.open()
	require.NoError(t, ask(t, c))
	require.Len(t, d.all(wire.KindServe), 2)
}

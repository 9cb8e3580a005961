// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a connection that breaks is nothing but a delay while the
// relay lives: requests that may not be repeated get their replies, each is asked
// once, and nothing is registered again.
func TestABrokenConnectionIsOnlyADelay(t *testing.T) {
	d, c := attached(t)
	serve(t, c, "geo", echo)
	var l listener
	subscribe(t, c, "a", &l, patterns.SubscribeOptions{})
	var asked atomic.Int64
	request := func(text string) bool {
		body := fmt.Append(nil, text, asked.Add(1))
		m, err := c.Request(t.Context(), "geo", patterns.Message{Body: body})
		if err != nil || string(m.Body) != string(body) {
			t.Errorf("request %s: %q, %v", body, m.Body, err)
			return false
		}
		return true
	}
	const cuts = 50
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !over.Load() && request("work") {
			}
		})
	}
	for i := range cuts {
		// Each connection carries something, in both directions: a session that gets
		// nowhere over several of them ends.
		require.True(t, request("before the cut"))
		d.publish("a", "x", 2)
		time.Sleep(time.Duration(i%10) * time.Millisecond)
		d.cut()
	}
	require.True(t, request("after the last"))
	over.Store(true)
	wg.Wait()
	require.Len(t, d.all(wire.KindRequest), int(asked.Load()))
	require.Len(t, d.all(wire.KindServe), 1)
	require.Len(t, d.all(wire.KindSubscribe), 1)
	eventually(t, func() bool { return len(l.all()) == cuts }, "not all came")
	require.Empty(t, l.missed())
	d.mu.Lock()
	defer d.mu.Unlock()
	require.GreaterOrEqual(t, len(d.hellos), 1+cuts)
	t.Logf("%d requests", asked.Load())
}

// This test checks that a relay which hangs up again and again before it says Hello
// is not taken for one that has died: nobody is told of a gap, and the session goes
// on.
func TestARelayThatHangsUpIsNotGone(t *testing.T) {
	d, c := attached(t)
	var l listener
	subscribe(t, c, "a", &l, patterns.SubscribeOptions{})
	d.mu.Lock()
	d.hangUps = 5
	d.mu.Unlock()
	d.cut()
	d.publish("a", "x", 1)
	eventually(t, func() bool { return len(l.all()) == 1 }, "it does not come")
	require.Empty(t, l.missed())
	require.Len(t, d.all(wire.KindSubscribe), 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Negative(t, d.hangUps, "all of them were reached")
}

// This test checks that registrations come back with another relay without the
// program's doing, each with a new member id, in order, and those that were
// closed do not.
func TestRegistrationsComeBackWithTheRelay(t *testing.T) {
	d, c := attached(t)
	a, b := serve(t, c, "a", echo), serve(t, c, "b", echo)
	require.NoError(t, serve(t, c, "c", echo).Close(t.Context()))
	require.NotEqual(t, a.Member(), b.Member())
	for i := range 3 {
		d.stop()
		d.mu.Lock()
		clear(d.came)
		d.mu.Unlock()
		d.on(wire.KindServe, func(s *session.Session, body []byte) bool {
			m := noted(d, wire.KindServe, body, wire.DecodeServe)
			d.says(s, wire.Done{ID: m.ID, Value: uint64(i)<<8 + m.ID})
			return true
		})
		d.open()
		eventually(t, func() bool { return b.Member() == fmt.Sprintf("%016x", i<<8+2) }, "it does not come back")
		var names []string
		for _, m := range d.all(wire.KindServe) {
			names = append(names, m.(wire.Serve).Cluster)
		}
		require.Equal(t, []string{"a", "b"}, names)
	}
}

// This test checks that a relay which does not take something at first is asked
// again, and that the first refusal of all is the program's.
func TestWhatTheRelayRefusesIsAskedForAgain(t *testing.T) {
	d := newDesk(t)
	var refuse atomic.Int32
	d.answer = func(s *session.Session, k wire.Kind, body []byte) bool {
		if k != wire.KindServe && k != wire.KindSubscribe || refuse.Add(-1) < 0 {
			return false
		}
		no := wire.Done{Outcome: wire.OutcomeUnreachable}
		if k == wire.KindServe {
			no.ID = read(d, body, wire.DecodeServe).ID
		} else {
			no.ID = read(d, body, wire.DecodeSubscribe).ID
		}
		d.says(s, no)
		return true
	}
	d.open()
	c := d.client()
	refuse.Store(1)
	_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	serve(t, c, "geo", echo)
	subscribe(t, c, "a", &listener{}, patterns.SubscribeOptions{})
	refuse.Store(5)
	d.stop()
	d.open()
	eventually(t, func() bool { return len(d.all(wire.KindServe)) == 2 && len(d.all(wire.KindSubscribe)) == 2 }, "they do not come back")
}

// This test checks what becomes of requests that are under way when the relay
// dies: those that may run twice are sent again, the others are interrupted.
func TestOnlyIdempotentRequestsAreSentAgain(t *testing.T) {
	d := newDesk(t)
	var mute atomic.Bool
	mute.Store(true)
	d.on(wire.KindRequest, func(_ *session.Session, body []byte) bool {
		if mute.Load() {
			noted(d, wire.KindRequest, body, wire.DecodeRequest)
			return true
		}
		return false
	})
	d.open()
	c := d.client()
	const each = 5
	var wg sync.WaitGroup
	errs := make([]error, 2*each)
	for i := range errs {
		wg.Go(func() {
			var opts []patterns.RequestOption
			if i < each {
				opts = append(opts, patterns.Idempotent())
			}
			var reply patterns.Message
			reply, errs[i] = c.Request(t.Context(), "geo", patterns.Message{Body: fmt.Append(nil, i)}, opts...)
			if errs[i] == nil && string(reply.Body) != fmt.Sprint(i) {
				errs[i] = fmt.Errorf("reply %q to %d", reply.Body, i)
			}
		})
	}
	eventually(t, func() bool { return len(d.all(wire.KindRequest)) == len(errs) }, "not asked")
	mute.Store(false)
	d.stop()
	d.open()
	wg.Wait()
	for i, err := range errs {
		if i < each {
			require.NoError(t, err, i)
		} else {
			require.ErrorIs(t, err, patterns.ErrInterrupted, i)
		}
	}
	require.Len(t, d.all(wire.KindRequest), 3*each)
}

// This test checks that calls made while the relay is gone wait for it, and
// how they end if it does not come back.
func TestCallsWaitForTheRelay(t *testing.T) {
	d := newDesk(t).open()
	c := d.client(func(cfg *client.Config) { cfg.RelayWait = 300 * time.Millisecond })
	patient := d.client()
	began := time.Now()
	d.stop()
	eventually(t, func() bool { // what was written before they know may have run
		return errors.Is(c.TryPublish("a", patterns.Message{}), patterns.ErrWouldBlock) &&
			errors.Is(patient.TryPublish("a", patterns.Message{}), patterns.ErrWouldBlock)
	}, "the clients do not notice that the relay is gone")
	err := ask(t, c)
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorIs(t, err, client.ErrNoRelay)
	require.ErrorContains(t, err, d.socket)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	_, err = c.Members(t.Context(), "geo")
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorIs(t, c.Publish(t.Context(), "a", patterns.Message{}), patterns.ErrUnreachable)
	require.ErrorIs(t, c.TryPublish("a", patterns.Message{}), patterns.ErrWouldBlock)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var late *patterns.DeadlineError
	_, err = patient.Request(ctx, "geo", patterns.Message{})
	require.ErrorAs(t, err, &late)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, late.MaybeRan)
	require.ErrorAs(t, patient.Publish(ctx, "a", patterns.Message{}), &late)
	require.False(t, late.MaybeRan)

	asked := beside(func() error { return ask(t, patient) })
	d.open()
	require.NoError(t, <-asked)
}

// This test checks that a relay which drains fails no call: what it had not looked
// at when it said goodbye is asked of the next one, although it may not be asked
// twice.
func TestWhatADrainingRelayHasNotLookedAtIsAskedAgain(t *testing.T) {
	d, c := attached(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var done atomic.Int64
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := ask(t, c); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	for range 5 {
		before := done.Load()
		eventually(t, func() bool { return done.Load() > before+50 || t.Failed() }, "no progress")
		d.drain()
		d.open()
	}
	close(stop)
	wg.Wait()
	require.Equal(t, int(done.Load()), len(d.all(wire.KindRequest)), "asked twice")
}

// drain ends the session in good order, and then the process.
func (d *desk) drain() {
	d.t.Helper()
	eventually(d.t, func() bool { return d.session() != nil && d.session().Attached() }, "the client does not attach")
	s := d.session()
	d.mu.Lock()
	d.listener.Close()
	d.mu.Unlock()
	s.Leave(session.CodeShutdown, "draining")
	eventually(d.t, func() bool { return !s.Attached() }, "the client does not leave")
	d.stop()
}

// This test checks that Serve does not fail because the relay is just being
// drained: the next relay gets the registration.
func TestServeOutlivesADrain(t *testing.T) {
	d := newDesk(t)
	var draining atomic.Bool
	d.on(wire.KindServe, func(s *session.Session, body []byte) bool {
		if draining.Load() {
			d.says(s, wire.Done{ID: read(d, body, wire.DecodeServe).ID, Outcome: wire.OutcomeDraining})
			return true
		}
		return false
	})
	d.open()
	c := d.client()
	draining.Store(true)
	served := beside(func() error {
		_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
		return err
	})
	time.Sleep(10 * time.Millisecond) // most likely it was asked; both orders are right
	d.drain()
	draining.Store(false)
	d.open()
	require.NoError(t, <-served)
}

// This test checks that a handler that ignores the end of its session does not
// keep the client from re-attaching, and that its reply goes nowhere.
func TestASlowHandlerDoesNotDelayReattaching(t *testing.T) {
	d, c := attached(t)
	release, handling, ended := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	r := serve(t, c, "stubborn", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		handling <- struct{}{}
		<-ctx.Done()
		close(ended)
		<-release
		return patterns.Message{}, nil
	})
	id := d.all(wire.KindServe)[0].(wire.Serve).ID
	d.request(id, 1, "geo")
	<-handling
	d.stop()
	<-ended
	d.open()
	require.NoError(t, ask(t, c))
	eventually(t, func() bool { return len(d.all(wire.KindServe)) == 2 }, "the member does not come back")
	close(release)
	require.NoError(t, r.Close(t.Context()))
	require.Empty(t, d.all(wire.KindReply))
}

// request has a registration handle a message.
func (d *desk) request(registration, id uint64, body string) {
	d.t.Helper()
	m := wire.Request{
		ID: id, Member: registration, Origin: &wire.Origin{Peer: "caller", Incarnation: 1, Serial: id},
		Tail: wire.AppendTail(nil, nil, []byte(body)),
	}
	d.send(wire.LaneRPC, wire.KindRequest, m.AppendTo(nil))
}

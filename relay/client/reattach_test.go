// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a client survives its relay: registrations come back
// without the program's doing, each with a new member id, and those that were
// closed do not.
func TestRegistrationsComeBackWithTheRelay(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	server, caller := p.client(), p.client()
	a, b := serve(t, server, "a", echo), serve(t, server, "b", echo)
	closed := serve(t, server, "c", echo)
	require.NoError(t, closed.Close(t.Context()))
	before := a.Member()

	for range 3 {
		require.NoError(t, r.Close())
		require.Empty(t, p.node.Limits("a"))
		r = p.relay()
		for _, cluster := range []string{"a", "b"} {
			reply, err := caller.Request(t.Context(), cluster, patterns.Message{Body: []byte("hi")}, patterns.WaitForMember())
			require.NoError(t, err, cluster)
			require.Equal(t, "hi", string(reply.Body))
		}
		require.Len(t, p.node.Limits("a"), 1)
		require.Empty(t, p.node.Limits("c"))
	}
	eventually(t, func() bool { return a.Member() != before }, "the member id is the old one")
	require.NotEqual(t, a.Member(), b.Member())
}

// This test checks that a relay which does not take the registration at first
// is asked again.
func TestARegistrationThatIsRefusedIsTriedAgain(t *testing.T) {
	p := newPlace(t)
	var refuse atomic.Int32
	p.node.ServeError = func(string) error {
		if refuse.Add(-1) >= 0 {
			return patterns.ErrUnreachable
		}
		return nil
	}
	r := p.relay()
	server := p.client()
	serve(t, server, "geo", echo)
	refuse.Store(3)
	require.NoError(t, r.Close())
	p.relay()
	eventually(t, func() bool { return len(p.node.Limits("geo")) == 1 }, "the member does not come back")
}

// This test checks what becomes of requests that are under way when the relay
// dies: those that may run twice are sent again, the others are interrupted.
func TestOnlyIdempotentRequestsAreSentAgain(t *testing.T) {
	p := newPlace(t)
	block := make(chan struct{})
	handling := make(chan struct{}, 100)
	var runs atomic.Int32
	serve(t, p.node, "geo", func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		runs.Add(1)
		handling <- struct{}{}
		select {
		case <-block:
			return patterns.Message{Body: r.Body}, nil
		case <-ctx.Done():
			return patterns.Message{}, ctx.Err()
		}
	})
	r := p.relay()
	c := p.client()
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
	for range errs {
		<-handling
	}
	require.NoError(t, r.Close())
	p.relay()
	for range each {
		<-handling // the second time
	}
	close(block)
	wg.Wait()
	for i, err := range errs {
		if i < each {
			require.NoError(t, err, i)
		} else {
			require.ErrorIs(t, err, patterns.ErrInterrupted, i)
		}
	}
	require.Equal(t, int32(3*each), runs.Load())
}

// This test checks that calls made while the relay is gone wait for it, and
// how they end if it does not come back.
func TestCallsWaitForTheRelay(t *testing.T) {
	p := newPlace(t)
	serve(t, p.node, "geo", echo)
	r := p.relay()
	c, err := client.New(client.Config{Socket: p.socket, RelayWait: 300 * time.Millisecond})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Start(t.Context()))
	patient := p.client()
	require.NoError(t, r.Close())

	began := time.Now()
	_, err = c.Request(t.Context(), "geo", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorContains(t, err, p.socket)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	_, err = c.Members(t.Context(), "geo")
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Request(ctx, "geo", patterns.Message{})
	var late *patterns.DeadlineError
	require.ErrorAs(t, err, &late)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, late.MaybeRan)

	asked := make(chan error, 1)
	go func() {
		_, err := patient.Request(t.Context(), "geo", patterns.Message{})
		asked <- err
	}()
	p.relay()
	require.NoError(t, <-asked)
}

// This test checks that a rolling restart loses nothing: clients call each
// other without pause while their relay is drained and replaced, again and
// again, and no call fails.
func TestADrainedRelayFailsNoCall(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	server, caller := p.client(), p.client()
	serve(t, server, "geo", func(_ context.Context, q *patterns.Request) (patterns.Message, error) {
		time.Sleep(time.Millisecond)
		return patterns.Message{Body: q.Body}, nil
	})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var done atomic.Int64
	fails := make(chan error, 1000)
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Not idempotent: nothing may be run twice to get there.
				if _, err := caller.Request(t.Context(), "geo", patterns.Message{}, patterns.WaitForMember()); err != nil {
					fails <- err
					return
				}
				done.Add(1)
			}
		})
	}
	for range 5 {
		before := done.Load()
		eventually(t, func() bool { return done.Load() > before+50 || len(fails) > 0 }, "no progress")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, r.Shutdown(ctx))
		cancel()
		r = p.relay()
	}
	close(stop)
	wg.Wait()
	close(fails)
	for err := range fails {
		require.NoError(t, err)
	}
	require.Empty(t, r.Status().Drops)
}

// This test checks that Serve does not fail because the relay is just being
// drained: the next relay gets the registration.
func TestServeOutlivesADrain(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	release := make(chan struct{})
	handling := make(chan struct{})
	serve(t, c, "slow", func(context.Context, *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-release
		return patterns.Message{}, nil
	})
	asked := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), "slow", patterns.Message{})
		asked <- err
	}()
	<-handling
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	eventually(t, func() bool { return r.Status().Draining && len(p.node.Limits("slow")) == 0 }, "no drain")
	served := make(chan error, 1)
	go func() {
		_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
		served <- err
	}()
	close(release)
	require.NoError(t, <-asked, "accepted before the drain")
	require.NoError(t, <-ended)
	p.relay()
	require.NoError(t, <-served)
	require.Len(t, p.node.Limits("geo"), 1)
}

// This test checks that a handler that ignores the end of its session does not
// keep the client from re-attaching.
func TestASlowHandlerDoesNotDelayReattaching(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	release := make(chan struct{})
	handling := make(chan struct{}, 1)
	serve(t, c, "stubborn", func(context.Context, *patterns.Request) (patterns.Message, error) {
		handling <- struct{}{}
		<-release
		return patterns.Message{}, nil
	})
	asked := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), "stubborn", patterns.Message{})
		asked <- err
	}()
	<-handling
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-asked, patterns.ErrInterrupted)
	p.relay()
	_, err := c.Members(t.Context(), "nobody")
	require.ErrorIs(t, err, patterns.ErrNoMembers)
	eventually(t, func() bool { return len(p.node.Limits("stubborn")) == 1 }, "the member does not come back")
	close(release)
}

// This test checks that the session before is not left standing beside the new
// one when only the client has noticed that it broke.
func TestNoMemberStaysTwice(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Limits.Clients = 1 }
	r := p.relay()
	c := p.client()
	serve(t, c, "geo", echo)
	require.NoError(t, r.Close())
	r = p.relay()
	eventually(t, func() bool { return len(p.node.Limits("geo")) == 1 }, "the member does not come back")
	require.Len(t, r.Status().Clients, 1)
}

// This test checks that a reply which the relay had sent before it went is
// taken, although the client has noticed on writing that the relay is gone.
func TestALastReplyIsNotLost(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	asked, reply, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { // a relay that stops reading, and then says one thing more
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		reader := session.NewReader(conn, session.MaxFrame)
		send := func(f session.Frame) {
			b, _ := session.Append(nil, f)
			conn.Write(b)
		}
		reader.Next() // hello
		send(&session.Welcome{Version: 1, Limits: session.Limits{Frame: session.MaxFrame}})
		reader.Next() // the first request
		conn.(*net.UnixConn).CloseRead()
		close(asked)
		<-reply
		send(&session.Reply{ID: 1, Body: []byte("ho")})
	}()
	c, err := client.New(client.Config{Socket: socket, RelayWait: 20 * time.Millisecond})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Start(t.Context()))
	first := make(chan error, 1)
	go func() {
		m, err := c.Request(t.Context(), "geo", patterns.Message{})
		if err == nil && string(m.Body) != "ho" {
			err = fmt.Errorf("reply %q", m.Body)
		}
		first <- err
	}()
	<-asked
	_, err = c.Request(t.Context(), "geo", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrUnreachable, "it can't have been seen")
	close(reply)
	require.NoError(t, <-first)
	<-done
}

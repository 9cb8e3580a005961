// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test checks that Shutdown finishes what handlers have begun, that those
// may still make calls, and that nothing new is accepted.
func TestShutdownFinishesWhatWasAccepted(t *testing.T) {
	p := newPlace(t)
	p.relay()
	serve(t, p.node, "helper", echo)
	server, caller := p.client(), p.client()
	handling, release := make(chan struct{}), make(chan struct{})
	serve(t, server, "geo", func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-release
		return server.Request(ctx, "helper", patterns.Message{Body: r.Body})
	})
	asked := make(chan error, 1)
	go func() {
		reply, err := caller.Request(t.Context(), "geo", patterns.Message{Body: []byte("hi")})
		if err == nil && string(reply.Body) != "hi" {
			panic("wrong reply")
		}
		asked <- err
	}()
	<-handling
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(context.Background()) }()
	eventually(t, func() bool { return len(p.node.Limits("geo")) == 0 }, "the member does not leave")
	_, err := server.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.Empty(t, ended)
	close(release)
	require.NoError(t, <-asked)
	require.NoError(t, <-ended)

	_, err = server.Request(t.Context(), "helper", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	_, err = server.Members(t.Context(), "helper")
	require.ErrorIs(t, err, patterns.ErrClosed)
	_, err = server.Status(t.Context())
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.NoError(t, server.Shutdown(t.Context()))
	require.NoError(t, server.Close())
}

// This test checks that a Shutdown which can't finish ends with its context.
func TestShutdownEndsWithItsContext(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server, caller := p.client(), p.client()
	handling := make(chan struct{})
	serve(t, server, "geo", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-ctx.Done() // until the session ends
		return patterns.Message{}, ctx.Err()
	})
	asked := make(chan error, 1)
	go func() {
		_, err := caller.Request(t.Context(), "geo", patterns.Message{})
		asked <- err
	}()
	<-handling
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, server.Shutdown(ctx), context.DeadlineExceeded)
	require.Error(t, <-asked)
}

// This test checks that Close ends calls that wait, with the outcome that is
// true, and that it may be called by many.
func TestCloseEndsCallsHonestly(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	handling, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	serve(t, p.node, "geo", func(context.Context, *patterns.Request) (patterns.Message, error) {
		handling <- struct{}{}
		<-release
		return patterns.Message{}, nil
	})
	for _, idempotent := range []bool{false, true} {
		c := p.client()
		asked := make(chan error, 1)
		go func() {
			var opts []patterns.RequestOption
			if idempotent {
				opts = append(opts, patterns.Idempotent())
			}
			_, err := c.Request(t.Context(), "geo", patterns.Message{}, opts...)
			asked <- err
		}()
		<-handling
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { c.Close() })
		}
		wg.Wait()
		require.ErrorIs(t, <-asked, patterns.ErrInterrupted)
	}

	c := p.client()
	require.NoError(t, r.Close())
	asked := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), "geo", patterns.Message{})
		asked <- err
	}()
	time.Sleep(10 * time.Millisecond) // most likely it waits now; both orders are right
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-asked, patterns.ErrClosed)
}

// This test checks that a registration's Close is idempotent, drains, ends with
// its context, and needs no relay.
func TestARegistrationCanBeClosed(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c, caller := p.client(), p.client()
	handling, release := make(chan struct{}), make(chan struct{})
	reg := serve(t, c, "geo", func(context.Context, *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-release
		return patterns.Message{}, nil
	})
	require.Len(t, reg.Member(), 16)
	asked := make(chan error, 1)
	go func() {
		_, err := caller.Request(t.Context(), "geo", patterns.Message{})
		asked <- err
	}()
	<-handling
	ended := make(chan error, 1)
	go func() { ended <- reg.Close(t.Context()) }()
	eventually(t, func() bool { return len(p.node.Limits("geo")) == 0 }, "the member does not leave")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, reg.Close(ctx), context.DeadlineExceeded, "a second one has a context of its own")
	close(release)
	require.NoError(t, <-ended)
	require.NoError(t, <-asked)
	require.NoError(t, reg.Close(t.Context()))

	other := serve(t, c, "other", echo)
	require.NoError(t, r.Close())
	require.NoError(t, other.Close(t.Context()))
	p.relay()
	_, err := c.Members(t.Context(), "other")
	require.ErrorIs(t, err, patterns.ErrNoMembers)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a survey attached gives what one embedded gives: each
// reply, refusals included, and who is missing and why.
func TestASurveyIsTheSameAttachedAndEmbedded(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server, caller := p.client(), p.client()
	serve(t, server, "geo", echo)
	serve(t, p.node, "geo", func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{}, &patterns.RemoteError{Code: 404, Message: "no"}
	})
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	serve(t, server, "geo", func(context.Context, *patterns.Request) (patterns.Message, error) {
		<-release
		return patterns.Message{}, nil
	})
	for _, m := range []patterns.Messenger{p.node, caller} {
		var bodies []string
		take := func(r patterns.SurveyReply) error {
			require.NotEmpty(t, r.Member)
			require.Equal(t, "peer", r.Peer)
			if r.Err != nil {
				var remote *patterns.RemoteError
				require.ErrorAs(t, r.Err, &remote)
				require.Equal(t, &patterns.RemoteError{Cluster: "geo", Code: 404, Message: "no"}, remote)
				return nil
			}
			require.Equal(t, "v", r.Message.Headers.Get("k"))
			bodies = append(bodies, string(r.Message.Body))
			return nil
		}
		var result patterns.SurveyResult
		for span := 200 * time.Millisecond; result.Replies < 2 && span < patience; span *= 2 { // a busy machine may need more
			bodies = nil
			ctx, cancel := context.WithTimeout(t.Context(), span)
			var err error
			result, err = m.Survey(ctx, "geo", patterns.Message{
				Body: []byte("hi"), Headers: patterns.Headers{{Key: "k", Value: "v"}},
			}, take, patterns.SurveyOptions{})
			cancel()
			require.NoError(t, err)
		}
		require.Equal(t, []string{"hi"}, bodies)
		require.Equal(t, 2, result.Replies)
		require.False(t, result.Complete)
		require.Len(t, result.Missing, 1)
		var late *patterns.DeadlineError
		require.ErrorAs(t, result.Missing[0].Err, &late)
		require.True(t, late.MaybeRan)

		_, err := m.Survey(t.Context(), "nobody", patterns.Message{}, nil, patterns.SurveyOptions{})
		require.ErrorIs(t, err, patterns.ErrNoMembers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := caller.Survey(ctx, "geo", patterns.Message{}, nil, patterns.SurveyOptions{})
	require.NoError(t, err, "who only counts needs no function")
}

// This test checks that an error of the program's ends a survey at once, and
// that a complete one says so.
func TestAnErrorOfTheProgramEndsASurvey(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	caller := p.client()
	for range 5 {
		serve(t, p.node, "geo", echo)
	}
	mine := errors.New("enough")
	calls := 0
	result, err := caller.Survey(t.Context(), "geo", patterns.Message{}, func(patterns.SurveyReply) error {
		if calls++; calls == 2 {
			return mine
		}
		return nil
	}, patterns.SurveyOptions{})
	require.Equal(t, mine, err)
	require.Equal(t, 2, result.Replies)
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 0 }, "the call stays")

	result, err = caller.Survey(t.Context(), "geo", patterns.Message{}, func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.Equal(t, patterns.SurveyResult{Replies: 5, Complete: true}, result)
	result, err = caller.Survey(t.Context(), "geo", patterns.Message{}, func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{MaxReplies: 3})
	require.NoError(t, err)
	require.Equal(t, 3, result.Replies)
	require.Len(t, result.Missing, 2)
	require.ErrorIs(t, result.Missing[0].Err, patterns.ErrTooLarge)
}

// This test checks that a slow program does not stop its client from reading,
// and that a survey that loses its relay is not made again.
func TestASurveyThatLosesItsRelayIsInterrupted(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	caller := p.client()
	var asked atomic.Int32
	serve(t, p.node, "geo", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		asked.Add(1)
		<-ctx.Done()
		return patterns.Message{}, nil
	})
	serve(t, p.node, "geo", echo)
	result, err := caller.Survey(t.Context(), "geo", patterns.Message{}, func(patterns.SurveyReply) error {
		_, err := caller.Members(t.Context(), "geo")
		require.NoError(t, err)
		eventually(t, func() bool { return asked.Load() == 1 }, "not asked")
		require.NoError(t, r.Close())
		p.relay()
		return nil
	}, patterns.SurveyOptions{})
	require.ErrorIs(t, err, patterns.ErrInterrupted)
	require.Equal(t, patterns.SurveyResult{Replies: 1}, result)
	require.Equal(t, int32(1), asked.Load())
}

// counted is a service that counts what comes.
type counted struct{ requests, pushes, broadcasts atomic.Int32 }

func (c *counted) service() patterns.Service {
	return patterns.Service{
		Request: func(context.Context, *patterns.Request) (patterns.Message, error) {
			c.requests.Add(1)
			return patterns.Message{}, nil
		},
		Push:      func(context.Context, *patterns.Request) { c.pushes.Add(1) },
		Broadcast: func(context.Context, *patterns.Request) { c.broadcasts.Add(1) },
	}
}

// This test checks each way to send to a service of a client: the right field
// is called, and a nil one is an honest "no method".
func TestEachPatternCallsItsField(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server, caller := p.client(), p.client()
	var c counted
	_, err := server.Serve(t.Context(), "all", c.service(), patterns.Limits{})
	require.NoError(t, err)
	_, err = caller.Request(t.Context(), "all", patterns.Message{})
	require.NoError(t, err)
	require.NoError(t, caller.Push(t.Context(), "all", patterns.Message{Body: []byte("hi")}))
	result, err := caller.Broadcast(t.Context(), "all", patterns.Message{Body: []byte("hi")})
	require.NoError(t, err)
	require.Equal(t, patterns.BroadcastResult{Members: 1, Nodes: 1, Complete: true}, result)
	eventually(t, func() bool { return c.pushes.Load() == 1 && c.broadcasts.Load() == 1 }, "they do not come")
	require.Equal(t, int32(1), c.requests.Load())

	serve(t, server, "requests", echo)
	var remote *patterns.RemoteError
	require.ErrorAs(t, caller.Push(t.Context(), "requests", patterns.Message{}), &remote)
	require.Equal(t, patterns.CodeNoMethod, remote.Code)
	result, err = caller.Broadcast(t.Context(), "requests", patterns.Message{})
	require.NoError(t, err)
	require.Len(t, result.Missing, 1)
	require.ErrorAs(t, result.Missing[0].Err, &remote)
	require.Equal(t, patterns.CodeNoMethod, remote.Code)
	_, err = server.Serve(t.Context(), "pushes", patterns.Service{Push: func(context.Context, *patterns.Request) {}}, patterns.Limits{})
	require.NoError(t, err)
	_, err = caller.Request(t.Context(), "pushes", patterns.Message{})
	require.ErrorAs(t, err, &remote)
	require.Equal(t, patterns.CodeNoMethod, remote.Code)
}

// This test checks that what was pushed to a client is finished although its
// relay goes, since its sender was told that it was accepted.
func TestAPushOutlivesTheSession(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	server := p.client()
	handling, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	_, err := server.Serve(t.Context(), "work", patterns.Service{Push: func(ctx context.Context, _ *patterns.Request) {
		close(handling)
		<-release
		done <- ctx.Err()
	}}, patterns.Limits{})
	require.NoError(t, err)
	require.NoError(t, p.node.Push(t.Context(), "work", patterns.Message{}))
	<-handling
	require.NoError(t, r.Close())
	p.relay()
	eventually(t, func() bool { return len(p.node.Limits("work")) == 1 }, "the member does not come back")
	close(release)
	require.NoError(t, <-done)
}

// This test checks that a handler of pushes may panic.
func TestAPanicInAPushIsItsOwn(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server := p.client()
	var calls atomic.Int32
	_, err := server.Serve(t.Context(), "work", patterns.Service{Push: func(context.Context, *patterns.Request) {
		calls.Add(1)
		panic("oh")
	}}, patterns.Limits{Concurrency: 1})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, server.Push(t.Context(), "work", patterns.Message{}))
	}
	eventually(t, func() bool { return calls.Load() == 3 }, "a panic keeps its place")
}

// This test checks that broadcasts one after the other come in that order.
func TestBroadcastsComeInOrder(t *testing.T) {
	p := newPlace(t)
	p.relay()
	server, caller := p.client(), p.client()
	var mu sync.Mutex
	var got []byte
	_, err := server.Serve(t.Context(), "geo", patterns.Service{Broadcast: func(_ context.Context, r *patterns.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Body...)
	}}, patterns.Limits{Concurrency: 1})
	require.NoError(t, err)
	var want []byte
	for i := range byte(100) {
		want = append(want, i)
		_, err := caller.Broadcast(t.Context(), "geo", patterns.Message{Body: []byte{i}})
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(got, want)
	}, "not in order")
}

// This test goes one beyond what the relay allows: the error is named, whatever
// the pattern.
func TestEveryCallKnowsTheLimits(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Limits.Requests = 1 }
	r := p.relay()
	caller := p.client()
	serve(t, p.node, "geo", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		<-ctx.Done()
		return patterns.Message{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		caller.Request(ctx, "geo", patterns.Message{})
	}()
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 1 }, "the request does not begin")
	_, err := caller.Survey(t.Context(), "geo", patterns.Message{}, nil, patterns.SurveyOptions{})
	require.ErrorIs(t, err, client.ErrTooManyRequests)
	_, err = caller.Broadcast(t.Context(), "geo", patterns.Message{})
	require.ErrorIs(t, err, client.ErrTooManyRequests)
	require.ErrorIs(t, caller.Push(t.Context(), "geo", patterns.Message{}), client.ErrTooManyRequests)
	cancel()
	<-done
}

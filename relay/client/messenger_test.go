// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a program which switches from an embedded node to a
// client sees the same: every outcome a node can have is compared, by text, by
// errors.Is with every sentinel, and by errors.As.
func TestErrorsAreTheSameEmbeddedAndAttached(t *testing.T) {
	outcomes := map[string]error{
		"no-members":   patterns.ErrNoMembers,
		"overloaded":   patterns.ErrOverloaded,
		"unreachable":  patterns.ErrUnreachable,
		"interrupted":  patterns.ErrInterrupted,
		"unauthorized": patterns.ErrUnauthorized,
		"too-large":    patterns.ErrTooLarge,
		"closed":       patterns.ErrClosed,
		"wrapped":      fmt.Errorf("request: 3 members were asked: %w", patterns.ErrOverloaded),
		"late":         &patterns.DeadlineError{Cause: context.DeadlineExceeded},
		"late-ran":     &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true},
		"remote":       &patterns.RemoteError{Cluster: "remote", Code: 404, Message: "no such place"},
		"other":        errors.New("cluster: name is empty"),
	}
	p := newPlace(t)
	p.node.RequestError = func(cluster string) error { return outcomes[cluster] }
	p.node.ServeError = func(cluster string) error { return outcomes[cluster] }
	p.relay()
	c := p.client()
	for cluster, want := range outcomes {
		for name, m := range map[string]patterns.Messenger{"embedded": p.node, "attached": c} {
			_, err := m.Request(t.Context(), cluster, patterns.Message{})
			same(t, want, err, name+" request: "+cluster)
			if cluster != "remote" {
				_, err = m.Serve(t.Context(), cluster, patterns.HandlerFunc(echo), patterns.Limits{})
				same(t, want, err, name+" serve: "+cluster)
			}
		}
	}
}

func same(t *testing.T, want, got error, name string) {
	t.Helper()
	require.EqualError(t, got, want.Error(), name)
	for _, sentinel := range []error{
		patterns.ErrNoMembers, patterns.ErrOverloaded, patterns.ErrUnreachable, patterns.ErrInterrupted,
		patterns.ErrUnauthorized, patterns.ErrTooLarge, patterns.ErrClosed, context.DeadlineExceeded, context.Canceled,
	} {
		require.Equal(t, errors.Is(want, sentinel), errors.Is(got, sentinel), "%s as %v", name, sentinel)
	}
	var a, b *patterns.RemoteError
	require.Equal(t, errors.As(want, &a), errors.As(got, &b), name)
	require.Equal(t, a, b, name)
	var x, y *patterns.DeadlineError
	require.Equal(t, errors.As(want, &x), errors.As(got, &y), name)
	require.Equal(t, x, y, name)
}

// This test checks that what a handler returns comes to its caller as if it ran
// in an embedded node.
func TestHandlersAreTheSameEmbeddedAndAttached(t *testing.T) {
	handlers := map[string]patterns.HandlerFunc{
		"echo": echo,
		"empty": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, nil
		},
		"refuse": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, &patterns.RemoteError{Code: 404, Message: "no such place"}
		},
		"fail": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, errors.New("disk full")
		},
		"nested": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, patterns.ErrOverloaded
		},
		"busy": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, &patterns.Refusal{Cause: patterns.ErrOverloaded}
		},
		"lost": func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{}, &patterns.Refusal{Cause: patterns.ErrInterrupted}
		},
	}
	embedded, attached := newPlace(t), newPlace(t)
	attached.relay()
	c := attached.client()
	message := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}, {Key: "k"}}, Body: []byte("hi")}
	for cluster, h := range handlers {
		serve(t, embedded.node, cluster, h)
		serve(t, c, cluster, h)
		want, wantErr := embedded.node.Request(t.Context(), cluster, message)
		got, gotErr := c.Request(t.Context(), cluster, message)
		if wantErr != nil {
			same(t, wantErr, gotErr, cluster)
			continue
		}
		require.NoError(t, gotErr, cluster)
		require.Equal(t, want.Headers, got.Headers, cluster)
		require.Equal(t, string(want.Body), string(got.Body), cluster)
	}

	serve(t, c, "panic", func(context.Context, *patterns.Request) (patterns.Message, error) { panic("nil map") })
	_, err := c.Request(t.Context(), "panic", message)
	same(t, &patterns.RemoteError{Cluster: "panic", Code: patterns.CodePanic, Message: "nil map"}, err, "panic")
}

// This test checks what a handler sees of a request, and that the report says
// who answered.
func TestARequestArrivesAsItWasSent(t *testing.T) {
	p := newPlace(t)
	p.relay()
	caller, server := p.client(), p.client()
	seen := make(chan *patterns.Request, 1)
	reg := serve(t, server, "geo", func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
		if at, ok := ctx.Deadline(); !ok || !at.Equal(r.Deadline) {
			return patterns.Message{}, errors.New("the context has another deadline")
		}
		seen <- r
		return patterns.Message{}, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	deadline, _ := ctx.Deadline()
	began := time.Now()
	var outcome patterns.RequestReport
	_, err := caller.Request(ctx, "geo", patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hi")},
		patterns.Report(&outcome))
	require.NoError(t, err)
	r := <-seen
	require.Equal(t, "geo", r.Cluster)
	require.Equal(t, "peer", r.From)
	// Clocks are not shared: the way there is not in it.
	require.WithinRange(t, r.Deadline, deadline.Add(-time.Millisecond), deadline.Add(time.Since(began)))
	require.Equal(t, patterns.Headers{{Key: "k", Value: "v"}}, r.Headers)
	require.Equal(t, "hi", string(r.Body))
	require.Equal(t, patterns.RequestReport{Member: reg.Member(), Attempts: 1}, outcome)
}

// This test checks messages up to the limit, and one byte beyond each.
func TestLargeMessagesFitUpToTheLimit(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	serve(t, c, "geo", echo)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the machine may be busy
	defer cancel()
	for _, size := range []int{0, 1, 16<<10 - 1, 16 << 10, 1 << 20, 16<<20 - 2} {
		body := bytes.Repeat([]byte{7}, size)
		reply, err := c.Request(ctx, "geo", patterns.Message{Body: body})
		require.NoError(t, err, size)
		require.True(t, bytes.Equal(body, reply.Body), size)
	}
	for name, m := range map[string]patterns.Message{
		"body":    {Body: make([]byte, 16<<20-1)},
		"headers": {Headers: patterns.Headers{{Key: "k", Value: strings.Repeat("v", 16<<10)}}},
		"key":     {Headers: patterns.Headers{{Key: strings.Repeat("k", 256)}}},
		"value":   {Headers: patterns.Headers{{Value: strings.Repeat("v", 1<<16)}}},
	} {
		_, err := c.Request(t.Context(), "geo", m)
		require.ErrorIs(t, err, patterns.ErrTooLarge, name)
	}
	_, err := c.Request(t.Context(), "geo", patterns.Message{}, patterns.Sticky(strings.Repeat("k", 1<<16)))
	require.ErrorIs(t, err, patterns.ErrTooLarge)
	_, err = c.Request(t.Context(), strings.Repeat("x", 256), patterns.Message{})
	require.ErrorContains(t, err, "at most 255")

	serve(t, c, "huge", func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: make([]byte, 32<<20)}, nil
	})
	_, err = c.Request(t.Context(), "huge", patterns.Message{})
	var remote *patterns.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Contains(t, remote.Message, "too large")
}

// This test checks that the time of a call is over when it is over, that a
// handler hears of it, and that a call which never began says so.
func TestACallEndsWithItsContext(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	handling, ended := make(chan struct{}, 1), make(chan error, 1)
	serve(t, c, "geo", func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		handling <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		<-t.Context().Done() // or this answer could win against the deadline
		return patterns.Message{}, ctx.Err()
	})
	var late *patterns.DeadlineError

	for span := 50 * time.Millisecond; ; span *= 2 { // until there is time enough to get there
		ctx, cancel := context.WithTimeout(t.Context(), span)
		_, err := c.Request(ctx, "geo", patterns.Message{})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorAs(t, err, &late)
		if late.MaybeRan || span > patience {
			break
		}
	}
	require.True(t, late.MaybeRan)
	<-handling
	require.Error(t, <-ended)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-handling; cancel() }()
	_, err := c.Request(ctx, "geo", patterns.Message{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, &late)
	require.True(t, late.MaybeRan)
	require.ErrorIs(t, <-ended, context.Canceled)

	_, err = c.Request(ctx, "geo", patterns.Message{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, &late)
	require.False(t, late.MaybeRan)
	_, err = c.Members(ctx, "geo")
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.Serve(ctx, "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, p.node.Limits("geo"), 1)
}

// This test checks Members and Status through the relay.
func TestMembersAndStatusAreTheRelays(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Status = func() any { return map[string]string{"peer": "12D3"} } }
	p.relay()
	c := p.client()
	serve(t, c, "geo", echo)
	want, err := p.node.Members(t.Context(), "geo")
	require.NoError(t, err)
	got, err := c.Members(t.Context(), "geo")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = c.Members(t.Context(), "nobody")
	require.ErrorIs(t, err, patterns.ErrNoMembers)

	raw, err := c.Status(t.Context())
	require.NoError(t, err)
	var status struct {
		Peer  string
		Relay relay.Status
	}
	require.NoError(t, json.Unmarshal(raw, &status))
	require.Equal(t, "12D3", status.Peer)
	require.Equal(t, "test", status.Relay.Clients[0].Name)
}

// This test checks that one beyond a relay's limit is an error with a name,
// which also says what an embedded program knows: nothing ran, try again.
func TestLimitsOfTheRelayHaveNames(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) {
		cfg.Limits = relay.Limits{Clients: 1, Registrations: 1, Requests: 1}
	}
	p.relay()
	c := p.client()
	release := make(chan struct{})
	handling := make(chan struct{})
	serve(t, c, "geo", func(context.Context, *patterns.Request) (patterns.Message, error) {
		close(handling)
		<-release
		return patterns.Message{}, nil
	})
	_, err := c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.ErrorIs(t, err, client.ErrTooManyRegistrations)
	require.ErrorIs(t, err, patterns.ErrTooMany)

	first := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), "geo", patterns.Message{})
		first <- err
	}()
	<-handling
	_, err = c.Request(t.Context(), "geo", patterns.Message{})
	require.ErrorIs(t, err, client.ErrTooManyRequests)
	require.ErrorIs(t, err, patterns.ErrOverloaded)
	close(release)
	require.NoError(t, <-first)

	second, err := client.New(client.Config{Socket: p.socket})
	require.NoError(t, err)
	err = second.Start(t.Context())
	require.ErrorIs(t, err, client.ErrTooManyClients)
	require.ErrorIs(t, err, patterns.ErrTooMany)
}

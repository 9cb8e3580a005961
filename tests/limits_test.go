// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestOneBeyondEachLimitOfAnAttachedMember(t *testing.T) {
	// This test goes one over each limit that a program states for its member:
	// a caller at another relay gets the named error, and the relay of who
	// refused counts it.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	program := b.Client()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	hold := func(ctx context.Context) { <-ctx.Done() }
	serve := func(cluster string, limits patterns.Limits) {
		t.Helper()
		_, err := program.Serve(ctx, cluster, patterns.Service{
			Request: func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
				hold(ctx)
				return patterns.Message{}, nil
			},
			Push:   func(ctx context.Context, _ *patterns.Request) { hold(ctx) },
			Tunnel: func(ctx context.Context, _ patterns.Tunnel) error { hold(ctx); return nil },
		}, limits)
		require(t, err == nil, err)
	}
	serve("handlers", patterns.Limits{Concurrency: 2, QueueLength: -1})
	serve("length", patterns.Limits{Concurrency: 1, QueueLength: 2})
	serve("bytes", patterns.Limits{Concurrency: 1, QueueBytes: 2000})
	serve("message", patterns.Limits{MessageBytes: 999})
	serve("tunnels", patterns.Limits{Tunnels: 2})
	push := func(app *client.Client, cluster string) error {
		return app.Push(ctx, cluster, patterns.Message{Body: make([]byte, 1000)})
	}
	open := func(app *client.Client, cluster string) error {
		_, err := app.OpenTunnel(ctx, cluster, patterns.Message{})
		return err
	}
	app := a.Client()
	for _, limit := range []struct {
		cluster string
		use     func(*client.Client, string) error
		fit     int
		err     error
		relay   *harness.Relay // that counts
		counter string
	}{
		{"handlers", push, 2, patterns.ErrOverloaded, b, "delivery.refused"},
		{"length", push, 3, patterns.ErrOverloaded, b, "delivery.refused"},
		{"bytes", push, 3, patterns.ErrOverloaded, b, "delivery.refused"},
		{"message", push, 0, patterns.ErrTooLarge, a, "request.too_large"},
		{"tunnels", open, 2, patterns.ErrOverloaded, b, "tunnel.tunnels"},
	} {
		a.Sees(1, limit.cluster)
		for range limit.fit {
			err := limit.use(app, limit.cluster)
			require(t, err == nil, fmt.Sprintf("%s: %v", limit.cluster, err))
		}
		before := limit.relay.Dropped(limit.counter)
		err := limit.use(app, limit.cluster)
		require(t, errors.Is(err, limit.err), fmt.Sprintf("%s: %v", limit.cluster, err))
		grown := limit.relay.Dropped(limit.counter) - before
		require(t, grown > 0, fmt.Sprintf("%s: %s grew by %d", limit.cluster, limit.counter, grown))
	}
}

func TestOneClientMoreThanARelayTakes(t *testing.T) {
	// This test attaches programs until the relay has as many as it takes by
	// default: the next one gets the named error, arke its exit status, and the
	// relay counts both; when one leaves there is room again.
	alone(t)
	a := harness.NewNetwork(t).Relay("a")
	before := a.Dropped("refused.too_many_clients") // attaches the harness itself
	var last *client.Client
	for range 255 {
		last = a.Client()
	}
	over, err := client.New(client.Config{Socket: a.Socket()})
	require(t, err == nil, err)
	defer over.Close()
	err = over.Start(t.Context())
	require(t, errors.Is(err, client.ErrTooManyClients) && errors.Is(err, patterns.ErrTooMany), err)
	a.Requests("echo", "x").Ends(14).Says("as many clients as it may have")
	require(t, a.Dropped("refused.too_many_clients") == before+2, a.Dropped("refused.too_many_clients"))
	require(t, last.Close() == nil, "")
	harness.Eventually(t, harness.Patience, "that there is room", func() error { return over.Start(t.Context()) })
}

func TestWhatATopicDoesNotTakeIsCounted(t *testing.T) {
	// This test publishes one byte more than a topic takes, in the body and in
	// the headers, and one subscription more than a program may have: the named
	// errors, and client and relay count them.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	app := a.Client()
	publish := func(m patterns.Message) error { return app.Publish(t.Context(), "news", m) }
	require(t, publish(patterns.Message{Body: make([]byte, 1<<20)}) == nil, "")
	err := publish(patterns.Message{Body: make([]byte, 1<<20+1)})
	require(t, errors.Is(err, patterns.ErrTooLarge), err)
	err = publish(patterns.Message{Headers: patterns.Headers{{Value: strings.Repeat("v", patterns.MaxHeaderBytes)}}})
	require(t, errors.Is(err, patterns.ErrTooLarge), err)
	require(t, app.Drops()["publish.too_large"] == 2, app.Drops())

	ignore := patterns.SubscriberFunc(func(*patterns.Publication) {})
	subscribe := func() error {
		_, err := app.Subscribe(t.Context(), "news", ignore, patterns.SubscribeOptions{})
		return err
	}
	for range 4096 {
		err := subscribe()
		require(t, err == nil, err)
	}
	err = subscribe()
	require(t, errors.Is(err, client.ErrTooManySubscriptions) && errors.Is(err, patterns.ErrTooMany), err)
	require(t, a.Dropped("subscription.too_many") == 1, a.Dropped("subscription.too_many"))
}

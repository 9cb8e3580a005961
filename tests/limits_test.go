// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	serve := func(cluster string, limits patterns.Limits) {
		t.Helper()
		_, err := program.Serve(ctx, cluster, patterns.Service{
			Request: func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
				<-ctx.Done()
				return patterns.Message{}, nil
			},
			Push:   func(ctx context.Context, _ *patterns.Request) { <-ctx.Done() },
			Tunnel: func(ctx context.Context, _ patterns.Tunnel) error { <-ctx.Done(); return nil },
		}, limits)
		require.NoError(t, err)
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
			require.NoError(t, err, limit.cluster)
		}
		before := limit.relay.Dropped(limit.counter)
		err := limit.use(app, limit.cluster)
		require.ErrorIs(t, err, limit.err, limit.cluster)
		require.Greater(t, limit.relay.Dropped(limit.counter), before, "%s: %s", limit.cluster, limit.counter)
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
	for range 1023 {
		last = a.Client()
	}
	over, err := client.New(client.Config{Socket: a.Socket()})
	require.NoError(t, err)
	defer over.Close()
	err = over.Start(t.Context())
	require.ErrorIs(t, err, client.ErrTooManyClients)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	a.Requests("echo", "x").Ends(14).Says("is full: ", "at most 1024", "--max-clients")
	require.Equal(t, before+2, a.Dropped("refused.too_many_clients"))
	require.NoError(t, last.Close())
	harness.Eventually(t, harness.Patience, "that there is room", func() error { return over.Start(t.Context()) })
}

func TestAFullRelayKeepsAPlaceForItsOperator(t *testing.T) {
	// This test fills a relay: status and doctor still get in, again and again, the
	// doctor names the limit and what to do, and a program is refused with both.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a", harness.Flags("--max-clients", "3"))
	for len(attachedTo(t, a)) < 3 {
		a.Client()
	}
	for range 6 { // more than there are places kept
		require.Len(t, attachedTo(t, a), 3)
		found := a.Does("doctor").Ends(1).Stdout
		require.Contains(t, found, "has 3 of 3 clients")
		require.Contains(t, found, "--max-clients")
	}
	a.Requests("echo", "x").Ends(14).Says("is full: ", "at most 3", "--max-clients")
}

// attachedTo returns the programs of a relay, without the command that asks.
func attachedTo(t *testing.T, a *harness.Relay) (all []any) {
	t.Helper()
	said := object(t, a.Does("status", "--json").Ends(0))
	for _, c := range said["relay"].(map[string]any)["clients"].([]any) {
		if c.(map[string]any)["name"] != "arke status" {
			all = append(all, c)
		}
	}
	return all
}

func TestWhatATopicDoesNotTakeIsCounted(t *testing.T) {
	// This test publishes one byte more than a topic takes, in the body and in
	// the headers, and one subscription more than a program may have: the named
	// errors, and client and relay count them.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	app := a.Client()
	publish := func(m patterns.Message) error { return app.Publish(t.Context(), "news", m) }
	require.NoError(t, publish(patterns.Message{Body: make([]byte, 1<<20)}))
	err := publish(patterns.Message{Body: make([]byte, 1<<20+1)})
	require.ErrorIs(t, err, patterns.ErrTooLarge)
	err = publish(patterns.Message{Headers: patterns.Headers{{Value: strings.Repeat("v", patterns.MaxHeaderBytes)}}})
	require.ErrorIs(t, err, patterns.ErrTooLarge)
	require.EqualValues(t, 2, app.Drops()["publish.too_large"])

	ignore := patterns.SubscriberFunc(func(patterns.Publication) {})
	subscribe := func() error {
		_, err := app.Subscribe(t.Context(), "news", ignore, patterns.SubscribeOptions{})
		return err
	}
	for range 4096 {
		err := subscribe()
		require.NoError(t, err)
	}
	err = subscribe()
	require.ErrorIs(t, err, client.ErrTooManySubscriptions)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.EqualValues(t, 1, a.Dropped("subscription.too_many"))
}

func TestFloodStaysWithinTheLimits(t *testing.T) {
	// This test sends a member ten times as much as it can do, by requests and
	// pushes of 30 KiB: its relay grows by no more than the limits of where such
	// a message is on its way, what is beyond them is refused by name, and who
	// asks another cluster on the same relays gets every reply, within a second:
	// while the flood gets no more outcomes than it does in a second, so that on a
	// machine that is busy with other work a second is longer.
	const (
		capacity    = 50 // a second
		callers     = 256
		span        = 4 * time.Second // and until there were ten times as many as the member can do
		size        = 30 << 10
		concurrency = 64
		queue       = 16 << 20 // of the member; full all the time
		limits      = 16<<20 + // the window of a link: come, and not looked at
			queue +
			concurrency*size + // with handlers: a relay keeps what is not answered
			4<<20 // lane rpc of the link: refusals and replies on their way back
	)
	alone(t)
	a, b := together(harness.NewNetwork(t))
	b.Serves("echo", "--echo")
	var done atomic.Int64
	work := func() { time.Sleep(concurrency * time.Second / capacity); done.Add(1) }
	_, err := b.Client().Serve(t.Context(), "slow", patterns.Service{
		Request: func(context.Context, *patterns.Request) (patterns.Message, error) {
			work()
			return patterns.Message{}, nil
		},
		Push: func(context.Context, *patterns.Request) { work() },
	}, patterns.Limits{Concurrency: concurrency, QueueLength: 10_000, QueueBytes: queue})
	require.NoError(t, err)
	a.Sees(1, "slow")
	a.Sees(1, "echo")
	before := b.RSS()

	ask := asks(a, "echo")
	var offered, ended, refused, strange, overtaken atomic.Int64
	load := harness.StartLoad(t, 50, func(n int) error {
		before := ended.Load()
		err := ask(n)
		passed := ended.Load() - before
		for most := overtaken.Load(); passed > most && !overtaken.CompareAndSwap(most, passed); {
			most = overtaken.Load()
		}
		return err
	})
	// With the race detector the processor would be what is short, and no limit.
	const pause = (harness.RaceMemory - 1) * 25 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := time.Now()
	flooded := func() bool {
		return time.Since(begin) > span && offered.Load() > int64(10*capacity*span.Seconds())
	}
	var wg sync.WaitGroup
	for i := range 4 {
		app := a.Client()
		for range callers / 4 {
			wg.Go(func() {
				body := make([]byte, size)
				for ctx.Err() == nil {
					offered.Add(1)
					one, done := context.WithTimeout(ctx, span)
					var err error
					if i%2 == 0 {
						err = app.Push(one, "slow", patterns.Message{Body: body})
					} else {
						_, err = app.Request(one, "slow", patterns.Message{Body: body})
					}
					done()
					ended.Add(1)
					time.Sleep(pause)
					switch {
					case errors.Is(err, patterns.ErrOverloaded):
						refused.Add(1)
					case err != nil && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
						strange.Add(1)
					}
				}
			})
		}
	}
	most := 0
	for !flooded() && time.Since(begin) < time.Minute {
		most = max(most, b.RSS())
		time.Sleep(50 * time.Millisecond)
	}
	took := time.Since(begin)
	honest(t, load)
	cancel()
	wg.Wait()
	t.Logf("%d offered, %d refused, %d done, in %v; the relay grew by %.1f MB, its limits are %.1f MB; an honest reply was overtaken by %d",
		offered.Load(), refused.Load(), done.Load(), took, float64(most-before)/1e6, float64(limits)/1e6, overtaken.Load())
	require.Greater(t, offered.Load(), int64(10*capacity*span.Seconds()))
	require.Less(t, overtaken.Load(), max(10*capacity, int64(float64(ended.Load())/took.Seconds())))
	require.Positive(t, refused.Load())
	require.Zero(t, strange.Load())
	require.Less(t, most-before, limits*harness.RaceMemory)
}

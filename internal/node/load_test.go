// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

// maxUnderway is how many requests of load may be under way: a busy machine
// must not become one that nobody could serve.
const maxUnderway = 64

// load sends requests at a steady rate until stop is called, which returns how
// many were sent and their errors.
func load(t *testing.T, n *node.Node, cluster string, every time.Duration, opts ...patterns.RequestOption) (stop func() (int, []error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	sent, underway := 0, make(chan struct{}, maxUnderway)
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			underway <- struct{}{}
			sent++
			wg.Go(func() {
				defer func() { <-underway }()
				if _, err := n.Request(context.Background(), cluster, patterns.Message{Body: []byte("x")}, opts...); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			})
		}
	})
	return func() (int, []error) {
		cancel()
		wg.Wait()
		return sent, errs
	}
}

// trio starts three nodes that know each other.
func trio(t *testing.T) (a, b, c *node.Node) {
	t.Helper()
	network := newNetwork(t)
	a = start(t, network, nil)
	b = start(t, network, nil, a)
	return a, b, start(t, network, nil, a, b)
}

// working echoes after a moment.
func working(handled *atomic.Int64) patterns.Handler {
	return patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		handled.Add(1)
		time.Sleep(3 * time.Millisecond)
		return patterns.Message{Body: r.Body}, nil
	})
}

func TestARollingRestartLosesNothing(t *testing.T) {
	// This test shuts a node down, and closes a single registration, under
	// load: not one request fails, though none is idempotent, and both members
	// have worked.
	a, b, c := trio(t)
	var first, second, third atomic.Int64
	serve(t, a, "echo", working(&first), patterns.Limits{})
	serve(t, b, "echo", working(&second), patterns.Limits{})
	leaving := serve(t, b, "echo", working(&third), patterns.Limits{})
	stop := load(t, c, "echo", time.Millisecond)
	after(t, 100, &third)
	require.NoError(t, leaving.Close(t.Context()))
	after(t, 100, &second)
	require.NoError(t, b.Shutdown(t.Context()))
	after(t, 200, &first)
	sent, errs := stop()
	require.Empty(t, errs)
	require.EqualValues(t, sent, first.Load()+second.Load()+third.Load(), "each ran once")
}

// dies closes one of two members' nodes without a word under load, and returns how often
// a handler ran, how many requests were sent, and their errors.
func dies(t *testing.T, opts ...patterns.RequestOption) (ran, sent int, errs []error) {
	t.Helper()
	a, b, c := trio(t)
	var first, second atomic.Int64
	serve(t, a, "echo", working(&first), patterns.Limits{})
	serve(t, b, "echo", working(&second), patterns.Limits{})
	stop := load(t, c, "echo", time.Millisecond, opts...)
	after(t, 200, &second)
	require.NoError(t, b.Close())
	after(t, 300, &first)
	sent, errs = stop()
	return int(first.Load() + second.Load()), sent, errs
}

func TestAnIdempotentRequestSurvivesTheDeathOfANode(t *testing.T) {
	// This test closes a node without a word under load: nothing is lost.
	ran, sent, errs := dies(t, patterns.Idempotent())
	require.Empty(t, errs)
	require.GreaterOrEqual(t, ran, sent)
}

func TestTheDeathOfANodeIsToldHonestly(t *testing.T) {
	// This test closes a node without a word under load that is not
	// idempotent: what was there is interrupted, and nothing else is lost or
	// runs twice.
	ran, sent, errs := dies(t)
	for _, err := range errs {
		require.ErrorIs(t, err, patterns.ErrInterrupted)
	}
	require.LessOrEqual(t, len(errs), maxUnderway)
	require.LessOrEqual(t, ran, sent)
	require.GreaterOrEqual(t, ran, sent-len(errs))
}

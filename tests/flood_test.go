// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

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
	}, patterns.Limits{Concurrency: concurrency, QueueLength: 1 << 20, QueueBytes: queue})
	require(t, err == nil, err)
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
	require(t, offered.Load() > int64(10*capacity*span.Seconds()), offered.Load())
	require(t, overtaken.Load() < max(10*capacity, int64(float64(ended.Load())/took.Seconds())), overtaken.Load())
	require(t, refused.Load() > 0 && strange.Load() == 0, strange.Load())
	require(t, most-before < limits*harness.RaceMemory, most-before)
}

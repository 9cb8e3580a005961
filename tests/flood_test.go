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
	// pushes of 32 KiB: its relay grows by no more than the limits say, what is
	// beyond them is refused by name, and who asks another cluster on the same
	// relays gets every reply, within a second.
	const (
		capacity = 50 // a second: one after the other, 20 ms each
		callers  = 256
		span     = 4 * time.Second
		queue    = 16 << 20 // of the member
		limits   = queue +
			8<<20 + // waits until the member's program reads it: relay.Limits.QueueBytes
			16<<20 + // one message of any size, beside it
			4<<20 // what the two relays' link has under way: the lane rpc
	)
	alone(t)
	a, b := together(harness.NewNetwork(t))
	b.Serves("echo", "--echo")
	var done atomic.Int64
	work := func() { time.Sleep(20 * time.Millisecond); done.Add(1) }
	_, err := b.Client().Serve(t.Context(), "slow", patterns.Service{
		Request: func(context.Context, *patterns.Request) (patterns.Message, error) {
			work()
			return patterns.Message{}, nil
		},
		Push: func(context.Context, *patterns.Request) { work() },
	}, patterns.Limits{Concurrency: 1, QueueLength: 1 << 20, QueueBytes: queue})
	require(t, err == nil, err)
	a.Sees(1, "slow")
	a.Sees(1, "echo")
	before := b.RSS()

	ask := asks(a, "echo")
	var slow atomic.Int64
	load := harness.StartLoad(t, 50, func(n int) error {
		begin := time.Now()
		err := ask(n)
		if time.Since(begin) > time.Second {
			slow.Add(1)
		}
		return err
	})
	var offered, refused, strange atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		app := a.Client()
		for range callers / 4 {
			wg.Go(func() {
				body := make([]byte, 32<<10)
				for ctx.Err() == nil {
					offered.Add(1)
					var err error
					if i%2 == 0 {
						err = app.Push(ctx, "slow", patterns.Message{Body: body})
					} else {
						_, err = app.Request(ctx, "slow", patterns.Message{Body: body})
					}
					switch {
					case errors.Is(err, patterns.ErrOverloaded):
						refused.Add(1)
					case err != nil && !errors.Is(err, context.DeadlineExceeded):
						strange.Add(1)
					}
				}
			})
		}
	}
	most := 0
	for ctx.Err() == nil {
		most = max(most, b.RSS())
		time.Sleep(50 * time.Millisecond)
	}
	wg.Wait()
	honest(t, load)
	require(t, slow.Load() == 0, slow.Load())
	t.Logf("%d offered, %d refused, %d done, in %v; the relay grew by %.1f MB, its limits are %.1f MB",
		offered.Load(), refused.Load(), done.Load(), span, float64(most-before)/1e6, float64(limits)/1e6)
	require(t, offered.Load() > int64(10*capacity*span.Seconds()), offered.Load())
	require(t, refused.Load() > 0 && strange.Load() == 0, strange.Load())
	// Go's collector lets garbage grow to the size of what is in use; the race
	// detector takes five times as much of everything, or more.
	require(t, most-before < 2*limits*harness.RaceMemory, most-before)
}

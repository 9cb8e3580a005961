// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// outcomes sends n messages at once and counts what becomes of them.
func (w *world) outcomes(n int, send func(context.Context) error, deadline time.Duration) (good, refused, other int, slowest time.Duration) {
	type outcome struct {
		err  error
		took time.Duration
	}
	out := make(chan outcome, n)
	begin := time.Now()
	for range n {
		w.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			out <- outcome{send(ctx), time.Since(begin)}
		})
	}
	for range n {
		switch o := <-out; o.err {
		case nil:
			good++
		case patterns.ErrOverloaded:
			refused++
			slowest = max(slowest, o.took)
		default:
			other++
		}
	}
	return good, refused, other, slowest
}

// A member that knows what its handlers take refuses at once what it can't do in time, and
// all that it runs is of use. What it refuses another member does.
func TestWhatCanNotEndInTimeIsRefusedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var ran atomic.Int64
		w.member(host, 1, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			ran.Add(1)
			time.Sleep(100 * time.Millisecond)
			return patterns.Message{}, nil
		}), patterns.Limits{Concurrency: 2})
		send := func(ctx context.Context) error {
			_, err := caller.engine.Do(ctx, "geo", body("x"), patterns.RequestOptions{})
			return err
		}
		for range 4 {
			require.NoError(t, send(t.Context()))
		}
		good, refused, other, slowest := w.outcomes(40, send, time.Second)
		require.GreaterOrEqual(t, good, 16)
		require.Zero(t, other)
		require.EqualValues(t, good, ran.Load()-4, "no handler ran for nobody")
		require.Less(t, slowest, 10*time.Millisecond)
		require.EqualValues(t, refused, host.engine.Drops()["no_time"])

		second := w.node("second", nil)
		w.connect(caller, second)
		w.member(second, 2, "geo", echo, patterns.Limits{})
		good, _, _, _ = w.outcomes(40, send, time.Second)
		require.Equal(t, 40, good)
	})
}

// A push is accepted if it begins while it is worth something: then it is handled, however
// long that takes.
func TestPushesThatCanNotBeginInTimeAreRefused(t *testing.T) {
	forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
		var late, handled atomic.Int64
		var due atomic.Pointer[time.Time] // when nothing more may begin
		set := func(in time.Duration) {
			at := time.Now().Add(in)
			due.Store(&at)
		}
		set(time.Hour)
		w.member(host, 9, "geo", taker(func(context.Context, *patterns.Request) {
			if time.Now().After(*due.Load()) {
				late.Add(1)
			}
			time.Sleep(300 * time.Millisecond)
			handled.Add(1)
		}), patterns.Limits{Concurrency: 1})
		for range 4 {
			require.NoError(t, give(caller, p, body("x")))
			time.Sleep(time.Second)
		}
		set(time.Second)
		good, refused, other, slowest := w.outcomes(40, func(context.Context) error { return give(caller, p, body("x")) }, time.Second)
		require.GreaterOrEqual(t, good, 3)
		require.EqualValues(t, refused, host.engine.Drops()["no_time"])
		require.Zero(t, other)
		require.Less(t, slowest, 10*time.Millisecond)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 4+good, handled.Load())
		require.Zero(t, late.Load())
	})
}

// A member that was slow learns that it is not any more, though nothing could end in time
// by what it knows.
func TestAMemberThatWasSlowServesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var work atomic.Int64
		work.Store(int64(3 * time.Second))
		w.member(host, 1, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			time.Sleep(time.Duration(work.Load()))
			return patterns.Message{}, nil
		}), patterns.Limits{Concurrency: 4})
		send := func(ctx context.Context) error {
			_, err := caller.engine.Do(ctx, "geo", body("x"), patterns.RequestOptions{})
			return err
		}
		_, _, other, _ := w.outcomes(8, send, time.Second)
		require.Equal(t, 8, other, "nothing is known yet")
		time.Sleep(5 * time.Second)
		_, refused, other, _ := w.outcomes(8, send, time.Second)
		require.Equal(t, 7, refused)
		require.Equal(t, 1, other, "one is tried")
		time.Sleep(5 * time.Second)
		work.Store(int64(time.Millisecond))
		for range 20 {
			require.NoError(t, send(t.Context()))
		}
		good, _, _, _ := w.outcomes(8, send, time.Second)
		require.Equal(t, 8, good)
		synctest.Wait()
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

func TestMessagesAndGapsComeInOrderOneAtATime(t *testing.T) {
	// This test checks the order of everything that was put from one goroutine.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 8, nil)
		l := &listener{pause: time.Millisecond}
		b := f.box(l, patterns.SubscribeOptions{})
		var want []string
		for i := range 100 {
			b.Put(message(i))
			want = append(want, fmt.Sprint(i))
			if i%10 == 0 {
				b.Gap(patterns.Gap{From: "p", Missed: 3, Exact: true, Reason: patterns.GapLost})
				want = append(want, "-3")
			}
			b.Gap(patterns.Gap{}) // nothing is missing
		}
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, strings.Join(want, " "), l.said())
		require.Equal(t, patterns.SubscriptionStatus{Delivered: 100, Missed: 30}, b.Status())
	})
}

func TestOneSlowSubscriberDoesNotSlowAnother(t *testing.T) {
	// This test has one subscriber that takes a second for each message beside
	// one that takes none: the second has everything at once, and the first is
	// told of all that it missed.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 8, nil)
		slow, fast := &listener{pause: time.Second}, &listener{}
		a := f.box(slow, patterns.SubscribeOptions{QueueLength: 4})
		b := f.box(fast, patterns.SubscribeOptions{})
		began := time.Now()
		a.Put(message(0))
		b.Put(message(0))
		synctest.Wait()
		for i := 1; i < 1000; i++ {
			a.Put(message(i))
			b.Put(message(i))
		}
		synctest.Wait()
		require.Zero(t, time.Since(began))
		require.EqualValues(t, 1000, b.Status().Delivered)
		require.NoError(t, a.Close(t.Context()))
		require.Equal(t, uint64(1000), slow.got+slow.missed)
		require.Equal(t, slow.missed, f.set.Status().Drops["queue_length"])
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestALimitOneOverIsCountedByName(t *testing.T) {
	// This test goes one over each bound of an inbox and looks at the counter:
	// the length, the bytes, a publisher that gives up, what waits when Close's
	// context ends, and what comes after Close.
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		options patterns.SubscribeOptions
		last    func(b *inbox.Inbox)
	}{
		"queue_length":      {patterns.SubscribeOptions{QueueLength: 2}, func(b *inbox.Inbox) { b.Put(message(9)) }},
		"queue_bytes":       {patterns.SubscribeOptions{QueueBytes: 3}, func(b *inbox.Inbox) { b.Put(message(99)) }},
		"publisher_gave_up": {patterns.SubscribeOptions{QueueLength: 2, Overflow: patterns.OverflowBlock}, func(b *inbox.Inbox) { _ = b.PutWait(over, message(9)) }},
		"after_close": {patterns.SubscribeOptions{}, func(b *inbox.Inbox) {
			go func() { _ = b.Close(context.Background()) }()
			synctest.Wait()
			b.Put(message(9))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 2, nil)
				b := f.box(&listener{pause: time.Second}, c.options)
				b.Put(message(0))
				synctest.Wait() // it is with the subscriber
				b.Put(message(1))
				b.Put(message(2))
				require.Empty(t, f.set.Status().Drops)
				c.last(b)
				require.Equal(t, map[string]uint64{name: 1}, f.set.Status().Drops)
			})
		})
	}
}

func TestPublishersOfABlockingSubscriptionWaitInTurn(t *testing.T) {
	// This test has three publishers that wait for room: they get it one after
	// the other, in the order in which they came, and nothing is dropped. What
	// can't wait is dropped meanwhile.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		l := &listener{pause: time.Second}
		b := f.box(l, patterns.SubscribeOptions{QueueLength: 1, Overflow: patterns.OverflowBlock})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				require.NoError(t, b.PutWait(t.Context(), message(i)))
				require.Equal(t, time.Duration(max(0, i-1))*time.Second, time.Since(began))
			})
			synctest.Wait()
		}
		require.True(t, b.Blocks(message(9)))
		require.False(t, b.Offer(message(9)), "and nothing is missing")
		b.Put(message(9))
		wg.Wait()
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, "0 1 -1 2 3 4", l.said())
		require.False(t, b.Blocks(message(9)), "it is closed")
		require.True(t, b.Offer(message(9)), "it is closed")
		require.ErrorIs(t, b.PutWait(t.Context(), message(9)), patterns.ErrClosed)
	})
}

func TestOnlyBlockingSubscriptionsBlock(t *testing.T) {
	// This test checks that PutWait drops as the other policies say.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		for overflow, want := range map[patterns.Overflow]string{
			patterns.OverflowOldest: "0 -1 2", patterns.OverflowNewest: "0 1 -1",
		} {
			l := &listener{pause: time.Second}
			b := f.box(l, patterns.SubscribeOptions{QueueLength: 1, Overflow: overflow})
			for i := range 3 {
				require.False(t, b.Blocks(message(i)))
				if i == 2 {
					require.True(t, b.Offer(message(i)))
					continue
				}
				require.NoError(t, b.PutWait(t.Context(), message(i)))
				synctest.Wait()
			}
			require.NoError(t, b.Close(t.Context()))
			require.Equal(t, want, l.said())
		}
	})
}

func TestAPublisherThatGivesUpLeavesAGap(t *testing.T) {
	// This test checks the error, the gap, and that a smaller message behind it
	// gets the room that it waited for.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		l := &listener{pause: time.Second}
		b := f.box(l, patterns.SubscribeOptions{QueueBytes: 10, Overflow: patterns.OverflowBlock})
		for i := range 2 { // the first one is delivered at once
			require.NoError(t, b.PutWait(t.Context(), message(i)))
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			require.ErrorIs(t, b.PutWait(ctx, &patterns.Publication{Body: make([]byte, 10)}), context.DeadlineExceeded)
		})
		synctest.Wait()
		began := time.Now()
		require.NoError(t, b.PutWait(t.Context(), message(2)))
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		wg.Wait()
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, "0 1 -1 2", l.said())
	})
}

func TestCloseDeliversWhatWaitsUntilItsContextEnds(t *testing.T) {
	// This test checks a Close that has time, one that has too little, that
	// both account for everything, and that publishers who wait are sent away.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 4, nil)
		for _, c := range []struct {
			patience time.Duration
			err      error
			status   patterns.SubscriptionStatus
		}{
			{time.Minute, nil, patterns.SubscriptionStatus{Delivered: 5}},
			{2500 * time.Millisecond, context.DeadlineExceeded, patterns.SubscriptionStatus{Delivered: 3, Missed: 2}},
		} {
			b := f.box(&listener{pause: time.Second}, patterns.SubscribeOptions{QueueLength: 4, Overflow: patterns.OverflowBlock})
			for i := range 5 {
				b.Put(message(i))
				synctest.Wait()
			}
			var wg sync.WaitGroup
			wg.Go(func() { require.ErrorIs(t, b.PutWait(t.Context(), message(5)), patterns.ErrClosed) })
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			require.ErrorIs(t, b.Close(ctx), c.err)
			cancel()
			wg.Wait()
			require.Equal(t, c.status, b.Status())
			require.NoError(t, b.Close(t.Context()), "again")
			b.Gap(patterns.Gap{Missed: 1})
			require.Equal(t, c.status, b.Status())
		}
		require.Equal(t, map[string]uint64{"closed": 2, "after_close": 2}, f.set.Status().Drops)
	})
}

func TestASubscriberMayCloseItself(t *testing.T) {
	// This test has a subscriber close its own subscription with a context that
	// has ended: nothing hangs, and what waited is counted.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		var b *inbox.Inbox
		l := &listener{pause: time.Second, before: func(patterns.Publication) {
			time.Sleep(time.Second) // until the second one waits
			require.ErrorIs(t, b.Close(over), context.Canceled)
		}}
		b = f.box(l, patterns.SubscribeOptions{})
		b.Put(message(0))
		b.Put(message(1))
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, patterns.SubscriptionStatus{Delivered: 1, Missed: 1}, b.Status())
	})
}

func TestPanicsAreSurvived(t *testing.T) {
	// This test has a subscriber panic at a message and at a gap: both are
	// logged and counted, and the next ones are delivered.
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		f := newFixture(t, 2, zap.New(core))
		b := f.box(panicker{}, patterns.SubscribeOptions{})
		for i := range 3 {
			b.Put(message(i))
			b.Gap(patterns.Gap{Missed: 1})
		}
		require.NoError(t, b.Close(t.Context()))
		require.Equal(t, patterns.SubscriptionStatus{Delivered: 3, Missed: 3}, b.Status())
		require.EqualValues(t, 6, f.set.Status().Panics)
		require.Equal(t, 6, logs.FilterMessage("subscriber panicked").Len())
	})
}

type panicker struct{}

func (panicker) ServePublication(patterns.Publication) { panic("no") }
func (panicker) ServeGap(patterns.Gap)                 { panic("no") }

func TestWithoutWorkersNothingIsLost(t *testing.T) {
	// This test has more inboxes than workers, and somebody else who has all of
	// them at first: each inbox is served in the end, and a busy one does not
	// keep its worker from the others.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		for range 2 {
			f.workers.Go(overlay.ExecKey{}, func() { time.Sleep(time.Second) })
		}
		var all []*listener
		for range 20 {
			l := &listener{pause: time.Millisecond}
			b := f.box(l, patterns.SubscribeOptions{})
			for i := range 200 {
				b.Put(message(i))
			}
			all = append(all, l)
		}
		synctest.Wait()
		require.Equal(t, inbox.SetStatus{Drops: map[string]uint64{}, InLine: 20}, f.set.Status())
		time.Sleep(time.Second + 64*20*time.Millisecond)
		for i, l := range all {
			require.NotEmpty(t, l.said(), "inbox %d waits while others have had more than one turn", i)
		}
		for i, b := range f.boxes {
			require.NoError(t, b.Close(t.Context()))
			require.EqualValues(t, 200, all[i].got)
		}
		require.Equal(t, inbox.SetStatus{Drops: map[string]uint64{}}, f.set.Status())
	})
}

func TestTheLineMovesWhileASubscriberHangs(t *testing.T) {
	// This test has the only worker that inboxes have got hang in a subscriber:
	// those in line get other workers as soon as there are some.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 2, nil)
		f.workers.Go(overlay.ExecKey{}, func() { time.Sleep(time.Second) })
		hangs, l := f.box(&listener{pause: time.Hour}, patterns.SubscribeOptions{}), &listener{}
		hangs.Put(message(0))
		f.box(l, patterns.SubscribeOptions{}).Put(message(1))
		time.Sleep(1100 * time.Millisecond)
		require.Equal(t, "1", l.said())
	})
}

func TestSlowSubscribersLeaveWorkersToOthers(t *testing.T) {
	// This test has as many slow subscribers as they may have workers, and one
	// more: it waits, while the Exec still has a worker for somebody else, and
	// gets the first one that is free.
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 4, nil)
		set, err := inbox.NewSet(inbox.SetConfig{Exec: f.workers, Clock: overlay.NewRealClock(), Workers: 3})
		require.NoError(t, err)
		f.set = set
		for range 3 {
			f.box(&listener{pause: time.Minute}, patterns.SubscribeOptions{}).Put(message(0))
		}
		l := &listener{}
		f.box(l, patterns.SubscribeOptions{}).Put(message(1))
		time.Sleep(time.Second)
		require.Equal(t, inbox.SetStatus{Drops: map[string]uint64{}, Working: 3, InLine: 1}, set.Status())
		ran := make(chan struct{})
		require.True(t, f.workers.Go(overlay.ExecKey{}, func() { close(ran) }))
		<-ran
		time.Sleep(59*time.Second + time.Millisecond)
		require.Equal(t, "1", l.said())
	})
}

func TestEverythingIsAccountedForUnderLoad(t *testing.T) {
	// This test has several publishers, with and without patience, at inboxes
	// of all policies: what the subscribers got and what they were told is
	// missing is what was put. Run it with -race.
	f := newFixture(t, 8, nil)
	var wg sync.WaitGroup
	for n := range 6 {
		l := &listener{}
		b := f.box(l, patterns.SubscribeOptions{QueueLength: 5, QueueBytes: 64, Overflow: patterns.Overflow(n % 3)})
		var publishers sync.WaitGroup
		const each = 2000
		for p := range 3 {
			publishers.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), uint64(p)))
				for i := range each {
					if r.IntN(2) == 0 {
						b.Put(message(i))
						continue
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(200))*time.Microsecond)
					_ = b.PutWait(ctx, message(i))
					cancel()
				}
			})
		}
		wg.Go(func() {
			publishers.Wait()
			require.NoError(t, b.Close(context.Background()))
			require.Equal(t, uint64(3*each), l.got+l.missed)
			require.Equal(t, patterns.SubscriptionStatus{Delivered: l.got, Missed: l.missed}, b.Status())
		})
	}
	wg.Wait()
}

func TestConfigIsChecked(t *testing.T) {
	// This test checks what is refused.
	_, err := inbox.NewSet(inbox.SetConfig{})
	require.Error(t, err)
	_, err = inbox.NewSet(inbox.SetConfig{Exec: overlay.NewWorkers(1), Clock: overlay.NewRealClock(), Workers: -1})
	require.Error(t, err)
	f := newFixture(t, 1, nil)
	for _, c := range []inbox.Config{
		{},
		{Subscriber: &listener{}, Options: patterns.SubscribeOptions{QueueLength: -1}},
		{Subscriber: &listener{}, Options: patterns.SubscribeOptions{QueueBytes: -1}},
		{Subscriber: &listener{}, Options: patterns.SubscribeOptions{Overflow: 3}},
	} {
		_, err := f.set.New(c)
		require.Error(t, err)
	}
}

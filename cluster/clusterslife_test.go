// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A watch outlives its last user by half a minute, and is found again in that
// time; after it nothing is left of it, here or at the anchors.
func TestWatchLingersForHalfAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 6)
		settleAll()
		near := byNearness(hosts, "geo")
		serve(t, near[4], "geo", 1)
		w := near[5].Watch("geo")
		time.Sleep(time.Second)
		w.Release()
		w.Release() // once is enough, twice does no harm
		time.Sleep(20 * time.Second)
		again := near[5].Watch("geo")
		require.Equal(t, []MemberID{1}, ids(again.View()))
		again.Release()
		time.Sleep(25 * time.Second)
		require.Len(t, near[5].Status().Watched, 1)
		require.Equal(t, 1, near[0].Status().Watches)
		time.Sleep(6 * time.Second)
		require.Empty(t, near[5].Status().Watched)
		require.Zero(t, near[0].Status().Watches)
		for p, n := range near[5].holds {
			require.Zero(t, n, p)
		}
	})
}

// A registration whose context ends is withdrawn.
func TestRegistrationEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 5)
		settleAll()
		near := byNearness(hosts, "geo")
		ctx, cancel := context.WithTimeout(t.Context(), fakeLatency)
		defer cancel()
		err := near[4].Register(ctx, "geo", Registration{Member: 1})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		for _, h := range hosts {
			require.Zero(t, h.Status().Leases)
			require.Empty(t, h.Status().Served)
		}
	})
}

// Register says what is wrong with its arguments.
func TestRegisterRefusesWhatCanNotBe(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		serve(t, a, "geo", 1)
		require.ErrorIs(t, a.Register(t.Context(), "geo", Registration{Member: 1}), ErrDuplicate)
		require.ErrorIs(t, a.Register(t.Context(), "", Registration{Member: 2}), ErrName)
		require.NoError(t, a.Close())
		require.NoError(t, a.Close(), "Close may be repeated")
		require.ErrorIs(t, a.Register(t.Context(), "geo", Registration{Member: 3}), ErrClosed)
		_, err := a.Watch("geo").Wait(t.Context(), false)
		require.ErrorIs(t, err, ErrClosed)
	})
}

// Close ends whoever waits.
func TestCloseEndsWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		done := make(chan error)
		go func() {
			_, err := a.Watch("geo").Wait(context.Background(), true)
			done <- err
		}()
		time.Sleep(time.Second)
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-done, ErrClosed)
	})
}

// A quiet network sends next to nothing.
func TestIdleNetworkIsQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 3)
		settleAll()
		serve(t, hosts[0], "geo", 1)
		w := hosts[1].Watch("geo")
		defer w.Release()
		settleAll()
		before := f.sentAll()
		time.Sleep(3 * time.Minute)
		require.Equal(t, before, f.sentAll(), "not one frame in three minutes")
		time.Sleep(time.Hour)
		require.LessOrEqual(t, f.sentAll()-before, 120)
	})
}

// A node that restarts under the same identity replaces what it was.
func TestRestartedNodeReplacesItsFormerMembers(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b := f.join("a"), f.join("b")
		settleAll()
		serve(t, b, "geo", 1)
		w := a.Watch("geo")
		defer w.Release()
		time.Sleep(time.Second)
		b.crash()
		time.Sleep(time.Second)
		b = f.joinAs("b", 2, "")
		time.Sleep(time.Second)
		serve(t, b, "geo", 2)
		time.Sleep(time.Second)
		require.Equal(t, []MemberID{2}, ids(w.View()))
		require.Equal(t, uint64(2), w.View().Members[0].Incarnation)
		require.Equal(t, "live", w.View().Members[0].State())
	})
}

// Everything may be called at once from many goroutines; when all is over
// nothing is left.
func TestManyCallersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 4)
		settleAll()
		var wg sync.WaitGroup
		for i, h := range hosts {
			for g := range 3 {
				wg.Go(func() {
					m := MemberID(100*i + g)
					for round := range 5 {
						serve(t, h, "geo", m)
						w := h.Watch("geo")
						v, err := w.Wait(t.Context(), true)
						require.NoError(t, err)
						for range 20 {
							if m := h.Pick(v, PickRequest{Policy: Policy(round), StickyKey: "k"}); m != nil {
								m.Begin()
								time.Sleep(time.Millisecond)
								h.Done(m, Result{Latency: time.Millisecond})
							}
						}
						_ = h.Status()
						w.Release()
						h.Unregister("geo", m)
					}
				})
			}
		}
		wg.Wait()
		time.Sleep(2 * lingerTime)
		for _, h := range hosts {
			s := h.Status()
			require.Zero(t, s.Leases+s.Watches)
			require.Empty(t, s.Served)
			require.Empty(t, s.Watched)
		}
	})
}

// Unregister ends a Register that is still waiting.
func TestUnregisterEndsAWaitingRegister(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 5)
		settleAll()
		far := byNearness(hosts, "geo")[4]
		done := make(chan error, 1)
		go func() { done <- far.Register(t.Context(), "geo", Registration{Member: 1}) }()
		time.Sleep(fakeLatency)
		far.Unregister("geo", 1)
		require.ErrorIs(t, <-done, ErrUnregistered)
	})
}

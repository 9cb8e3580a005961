// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/drop"
)

// A watcher knows a new member one round trip after the member asked its
// anchors, if the links are there.
func TestMemberIsKnownOneRoundTripAfterItRegisters(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b := f.join("a"), f.join("b")
		settleAll()
		w := watching(t, a, "geo")
		_, err := w.Wait(t.Context(), false)
		require.ErrorIs(t, err, ErrNoMembers)
		acknowledged := make(chan error, 1)
		go func() { acknowledged <- b.Register(t.Context(), "geo", Registration{Member: 1}) }()
		took := since(func() {
			v, err := w.Wait(t.Context(), true)
			require.NoError(t, err)
			require.Equal(t, []MemberID{1}, ids(v))
			require.Equal(t, b.id, v.Members[0].Peer)
		})
		require.Equal(t, fakeLatency, took) // a is an anchor itself
		require.NoError(t, <-acknowledged)
	})
}

// An empty cluster is an answer, given only once its anchors can know.
func TestEmptyClusterIsAnAnswerOnceAnchorsHaveSettled(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		w := watching(t, a, "geo")
		require.False(t, w.View().Known)
		require.False(t, w.View().Believed())
		took := since(func() {
			_, err := w.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrNoMembers)
		})
		require.Equal(t, settleTime, took, "alone since the start")
		require.True(t, w.View().Believed())

		for _, name := range []string{"b", "c", "d", "e"} {
			f.join(name)
		}
		settleAll()
		w2 := watching(t, a, "zones")
		took = since(func() {
			_, err := w2.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrNoMembers)
		})
		require.LessOrEqual(t, took, 8*fakeLatency, "links, snapshots, hints")
	})
}

// Where anchors say that there is nobody, a node that has a reason not to believe them
// says so at once, with the reason; it believes them again when the reason is gone.
func TestEmptyIsNotBelievedInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		reason := errors.New("the clock is off")
		a.cfg.Doubt = func() (error, bool) { return reason, false }
		w := watching(t, a, "geo")
		took := since(func() {
			_, err := w.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrUnreachable)
			require.NotErrorIs(t, err, ErrNoMembers)
			require.EqualError(t, err, "the clock is off")
		})
		require.Equal(t, settleTime, took, "alone since the start")
		reason = nil
		_, err := w.Wait(t.Context(), false)
		require.ErrorIs(t, err, ErrNoMembers)
		require.ErrorIs(t, w.View().Nobody(), ErrNoMembers)
		require.True(t, w.View().Believed())
		reason = errors.New("the process stood still")
		require.False(t, w.View().Believed(), "the same view is in doubt again")
	})
}

// Whoever can't ask anybody who knows is told so after two seconds, not later
// and not with another answer.
func TestCallerWithoutSettledAnchorsGetsUnreachableAfterTwoSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		// The neighbourhood never comes to rest.
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				b := f.join("b")
				time.Sleep(700 * time.Millisecond)
				b.crash()
				select {
				case <-stop:
					return
				case <-time.After(700 * time.Millisecond):
				}
			}
		}()
		w := watching(t, a, "geo")
		took := since(func() {
			_, err := w.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrUnreachable)
		})
		close(stop)
		<-done
		require.Equal(t, unknownTime, took)
	})
}

// The caller's own deadline goes before everything else, and waiting for a
// first member has no other end.
func TestWaitEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a := f.join("a")
		settleAll()
		w := watching(t, a, "geo")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		took := since(func() {
			_, err := w.Wait(ctx, true)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		require.Equal(t, time.Minute, took)
	})
}

// A crashed node's members leave every view as soon as its links break.
func TestMembersOfACrashedNodeAreGoneAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b, c := f.join("a"), f.join("b"), f.join("c")
		settleAll()
		serve(t, b, "geo", 1)
		serve(t, c, "geo", 2)
		w := watching(t, a, "geo")
		time.Sleep(time.Second)
		require.Equal(t, []MemberID{1, 2}, ids(w.View()))
		gone := w.View().Members[0]
		require.Equal(t, "live", gone.State())

		b.crash()
		time.Sleep(fakeLatency)
		synctest.Wait()
		require.Equal(t, "unreachable", gone.State())
		time.Sleep(2 * fakeLatency)
		synctest.Wait()
		require.Equal(t, []MemberID{2}, ids(w.View()))
	})
}

// Nothing is lost, not even for a moment, when anchors crash one by one.
func TestLosingAnchorsLosesNoMember(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 9)
		near := byNearness(hosts, "geo")
		member, caller := near[8], near[7]
		serve(t, member, "geo", 1)
		w := watching(t, caller, "geo")
		time.Sleep(time.Second)
		require.Equal(t, []MemberID{1}, ids(w.View()))
		lost := watchFor(t, w, func(v *View) bool { return len(v.Members) == 0 })
		for _, anchor := range near[:5] {
			anchor.crash()
			time.Sleep(2 * time.Second)
			require.Equal(t, []MemberID{1}, ids(w.View()))
			require.Equal(t, "live", w.View().Members[0].State())
		}
		require.False(t, lost())
	})
}

// Both halves of a partition go on with whom they have; after it everybody
// sees everybody again.
func TestPartitionHeals(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 6)
		for i, h := range hosts {
			serve(t, h, "geo", MemberID(i+1))
		}
		left, right := watching(t, hosts[0], "geo"), watching(t, hosts[5], "geo")
		time.Sleep(time.Second)
		require.Len(t, left.View().Members, 6)
		for _, h := range hosts[3:] {
			f.split(h, 1)
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, []MemberID{1, 2, 3}, ids(left.View()))
		require.Equal(t, []MemberID{4, 5, 6}, ids(right.View()))
		for _, h := range hosts[3:] {
			f.split(h, 0)
		}
		time.Sleep(500 * time.Millisecond)
		for _, w := range []*Watch{left, right} {
			require.Len(t, w.View().Members, 6)
			for _, m := range w.View().Members {
				require.Equal(t, "live", m.State(), m.ID)
			}
		}
	})
}

// The blinded id changes every few hours; nobody notices.
func TestEpochsRollOverWithoutAGap(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 5)
		serve(t, hosts[0], "geo", 1)
		w, empty := watching(t, hosts[1], "geo"), watching(t, hosts[1], "nobody")
		time.Sleep(3 * time.Second)
		first := testKeys("geo").Epochs(time.Now())[0].ID()
		gone := watchFor(t, w, func(v *View) bool {
			return len(v.Members) != 1 || v.Members[0].State() != "live"
		})
		time.Sleep(13 * time.Hour)
		require.False(t, gone())
		require.NotEqual(t, first, testKeys("geo").Epochs(time.Now())[0].ID())
		require.True(t, empty.View().Empty)
		require.LessOrEqual(t, hosts[2].Status().Leases, 2, "leases of old epochs are let go")
	})
}

// The same member stays the same object, with its health, while it lives.
func TestMemberPersistsAcrossViews(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b := f.join("a"), f.join("b")
		settleAll()
		serve(t, a, "geo", 1)
		w := watching(t, b, "geo")
		time.Sleep(time.Second)
		m := w.View().Members[0]
		m.Begin()
		serve(t, b, "geo", 2)
		time.Sleep(time.Second)
		require.Len(t, w.View().Members, 2)
		require.Same(t, m, w.View().Members[0])
		require.Equal(t, 1, m.Inflight())
	})
}

// What a registration carries is found at the member, up to its bound.
func TestPayloadTravelsWithTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 3)
		payload := []byte("what the layer above says")
		require.NoError(t, hosts[0].Register(t.Context(), "geo", Registration{Member: 1, Payload: payload}))
		w := watching(t, hosts[1], "geo")
		v, err := w.Wait(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, payload, v.Members[0].Payload)
		require.ErrorIs(t, hosts[0].Register(t.Context(), "geo", Registration{Member: 2, Payload: make([]byte, MaxPayload+1)}), ErrPayload)
	})
}

// A node that hangs is out of rotation while a majority of the anchors or our own
// link miss it, and back at its first sign of life. One anchor may lie.
func TestSuspectNodeIsOutOfRotationUntilItIsHeardAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b, c := f.join("a"), f.join("b"), f.join("c")
		settleAll()
		serve(t, b, "geo", 1)
		w := watching(t, a, "geo")
		time.Sleep(time.Second)
		m := w.View().Members[0]
		c.suspect(b, true)
		time.Sleep(fakeLatency)
		synctest.Wait()
		require.Equal(t, "live", m.State(), "one anchor's doubt is not enough: our own link is up")
		a.suspect(b, true)
		synctest.Wait()
		require.Equal(t, "suspect", m.State())
		c.suspect(b, false)
		time.Sleep(fakeLatency)
		synctest.Wait()
		require.Equal(t, "suspect", m.State(), "our own link is enough")
		a.suspect(b, false)
		synctest.Wait()
		require.Equal(t, "live", m.State())
	})
}

// A watch outlives its last user by half a minute, and is found again in that
// time; after it nothing is left of it, here or at the anchors.
func TestWatchLingersForHalfAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		hosts := crowd(f, 6)
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
		serve(t, hosts[0], "geo", 1)
		watching(t, hosts[1], "geo")
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
		w := watching(t, a, "geo")
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
		far := byNearness(hosts, "geo")[4]
		done := make(chan error, 1)
		go func() { done <- far.Register(t.Context(), "geo", Registration{Member: 1}) }()
		time.Sleep(fakeLatency)
		far.Unregister("geo", 1)
		require.ErrorIs(t, <-done, ErrUnregistered)
	})
}

// Frames beyond the bounds are dropped and counted, one peer's flood leaves
// room for the others, and nothing else is ever dropped.
func TestInboxIsBoundedForFramesOnly(t *testing.T) {
	wakes := 0
	b := newInbox(drop.New(dropReasons), func() { wakes++ })
	frame := func(from string, size int) event {
		return frameEvent{from: testPeer(from), msg: &unwatchMsg{}, size: size}
	}
	for _, flooder := range []string{"A", "C", "D", "E"} {
		for range maxInboxFrames {
			b.put(frame(flooder, 1))
		}
	}
	dropped := b.drops.ByName()["inbox_full"]
	taken := 4*maxInboxFrames - int(dropped)
	require.LessOrEqual(t, taken, maxInboxFrames)
	b.put(frame("B", 1))
	require.Equal(t, dropped, b.drops.ByName()["inbox_full"], "there is room for others")
	b.put(frame("B", maxInboxBytes))
	require.Equal(t, dropped+1, b.drops.ByName()["inbox_full"])
	for range 10 {
		b.put(linkEvent{})
		b.put(tableEvent{})
	}
	require.Equal(t, 1, wakes, "the loop is woken once for all of it")
	require.Len(t, b.take(), taken+1+10+1, "a changed table is news once")
	require.Empty(t, b.take())
	b.put(frame("A", 1))
	require.Equal(t, 2, wakes)
	b.close()
	require.False(t, b.put(linkEvent{}))
	require.Empty(t, b.take())
}

// What anchors told before this process stood still is no knowledge until they have
// answered again: a caller waits for that, and hears of the member that came meanwhile.
func TestEmptyFromBeforeAPauseIsNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b := f.join("a"), f.join("b")
		settleAll()
		w := watching(t, a, "geo")
		_, err := w.Wait(t.Context(), false)
		require.ErrorIs(t, err, ErrNoMembers)

		var behind atomic.Bool
		a.behind = func(p peer.ID) bool { return p == b.id && behind.Load() }
		behind.Store(true)
		require.NotErrorIs(t, w.View().Nobody(), ErrNoMembers)
		require.False(t, w.View().Whole())
		require.False(t, w.View().Final(), "it will be known soon")
		time.AfterFunc(300*time.Millisecond, func() { behind.Store(false) })
		took := since(func() {
			_, err := w.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrNoMembers)
		})
		require.InDelta(t, 0.35, took.Seconds(), 0.06)

		behind.Store(true)
		require.NoError(t, b.Register(t.Context(), "geo", Registration{Member: 1}))
		v, err := w.Wait(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, []MemberID{1}, ids(v))
	})
}

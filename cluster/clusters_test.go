// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A watcher knows a new member one round trip after the member asked its
// anchors, if the links are there.
func TestMemberIsKnownOneRoundTripAfterItRegisters(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b := f.join("a"), f.join("b")
		settleAll()
		w := a.Watch("geo")
		defer w.Release()
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
		w := a.Watch("geo")
		defer w.Release()
		require.False(t, w.View().Known)
		took := since(func() {
			_, err := w.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrNoMembers)
		})
		require.Equal(t, settleTime, took, "alone since the start")

		for _, name := range []string{"b", "c", "d", "e"} {
			f.join(name)
		}
		settleAll()
		w2 := a.Watch("zones")
		defer w2.Release()
		took = since(func() {
			_, err := w2.Wait(t.Context(), false)
			require.ErrorIs(t, err, ErrNoMembers)
		})
		require.LessOrEqual(t, took, 8*fakeLatency, "links, snapshots, hints")
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
		w := a.Watch("geo")
		defer w.Release()
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
		w := a.Watch("geo")
		defer w.Release()
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
		w := a.Watch("geo")
		defer w.Release()
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
		settleAll()
		near := byNearness(hosts, "geo")
		member, caller := near[8], near[7]
		serve(t, member, "geo", 1)
		w := caller.Watch("geo")
		defer w.Release()
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
		settleAll()
		for i, h := range hosts {
			serve(t, h, "geo", MemberID(i+1))
		}
		left, right := hosts[0].Watch("geo"), hosts[5].Watch("geo")
		defer left.Release()
		defer right.Release()
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
		settleAll()
		serve(t, hosts[0], "geo", 1)
		w, empty := hosts[1].Watch("geo"), hosts[1].Watch("nobody")
		defer w.Release()
		defer empty.Release()
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
		w := b.Watch("geo")
		defer w.Release()
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
		settleAll()
		payload := []byte("what the layer above says")
		require.NoError(t, hosts[0].Register(t.Context(), "geo", Registration{Member: 1, Payload: payload}))
		w := hosts[1].Watch("geo")
		defer w.Release()
		v, err := w.Wait(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, payload, v.Members[0].Payload)
		require.ErrorIs(t, hosts[0].Register(t.Context(), "geo", Registration{Member: 2, Payload: make([]byte, MaxPayload+1)}), ErrPayload)
	})
}

// A node that hangs is out of rotation while anchors or our own link miss it,
// and back at its first sign of life.
func TestSuspectNodeIsOutOfRotationUntilItIsHeardAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeNet) {
		a, b, c := f.join("a"), f.join("b"), f.join("c")
		settleAll()
		serve(t, b, "geo", 1)
		w := a.Watch("geo")
		defer w.Release()
		time.Sleep(time.Second)
		m := w.View().Members[0]
		c.suspect(b, true)
		time.Sleep(fakeLatency)
		synctest.Wait()
		require.Equal(t, "suspect", m.State(), "one anchor's doubt is enough")
		c.suspect(b, false)
		time.Sleep(fakeLatency)
		synctest.Wait()
		require.Equal(t, "live", m.State())
		a.suspect(b, true)
		synctest.Wait()
		require.Equal(t, "suspect", m.State())
		a.suspect(b, false)
		synctest.Wait()
		require.Equal(t, "live", m.State())
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

const ms = int64(time.Millisecond)

// crew makes a view of n members of capacity 1, the first near of them in the
// caller's zone.
func crew(n, near int) *View {
	p := newPool()
	var members []*Member
	for i := range n {
		zone := "far"
		if i < near {
			zone = "near"
		}
		members = append(members, &Member{
			ID: MemberID(i + 1), Peer: testPeer(fmt.Sprint(i)), Zone: zone, Capacity: 1, load: newLoad(p, 1),
		})
	}
	return viewOf(p, members)
}

func viewOf(p *pool, members []*Member) *View {
	v := &View{Members: members, Known: true, pool: p, tiers: newTiers(p, testPeer("caller"), "near", members)}
	p.setMembers(members)
	return v
}

// answer has a member serve one request of that duration.
func (m *Member) answer(now int64, took time.Duration, outcome wire.Outcome) {
	m.Begin()
	m.load.inflight.Add(-1)
	m.load.observe(now, Result{Outcome: outcome, Latency: took, Service: took})
	m.load.pool.refresh(now)
}

// fail has a member fail so often that it is ejected.
func (m *Member) fail(now int64) {
	for range maxFailures {
		m.answer(now, 0, wire.OutcomeFailed)
	}
}

// shares picks n times at one moment and counts.
func shares(v *View, r PickRequest, now int64, n int) map[MemberID]int {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make(map[MemberID]int)
	for range n {
		if m := pick(v, r, now, rng.Uint64()); m != nil {
			out[m.ID]++
		}
	}
	return out
}

// With equal members every policy but sticky spreads evenly.
func TestPoliciesSpreadEvenlyOverEqualMembers(t *testing.T) {
	for _, policy := range []Policy{PolicyLoad, PolicyRoundRobin, PolicyRandom, PolicyWeighted} {
		got := shares(crew(4, 0), PickRequest{Policy: policy}, 1, 40_000)
		for id := MemberID(1); id <= 4; id++ {
			require.InDelta(t, 10_000, got[id], 600, "policy %d member %v", policy, id)
		}
	}
}

// Round robin takes turns exactly.
func TestRoundRobinTakesTurns(t *testing.T) {
	v := crew(3, 0)
	var got []MemberID
	for range 6 {
		got = append(got, pick(v, PickRequest{Policy: PolicyRoundRobin}, 1, 0).ID)
	}
	require.Equal(t, []MemberID{2, 3, 1, 2, 3, 1}, got)
}

// Weighted shares follow the capacities.
func TestWeightedFollowsCapacity(t *testing.T) {
	p := newPool()
	var members []*Member
	for i, c := range []int{1, 2, 7} {
		members = append(members, &Member{ID: MemberID(i + 1), Capacity: c, load: newLoad(p, c)})
	}
	got := shares(viewOf(p, members), PickRequest{Policy: PolicyWeighted}, 1, 100_000)
	require.InDelta(t, 10_000, got[1], 700)
	require.InDelta(t, 20_000, got[2], 900)
	require.InDelta(t, 70_000, got[3], 1200)
}

// Work in flight, a queue at the member, slowness and little capacity each
// make the other one the better choice.
func TestLoadPicksTheLessLoadedOfTwo(t *testing.T) {
	for name, burden := range map[string]func(m *Member){
		"in flight": func(m *Member) { m.Begin() },
		"queue":     func(m *Member) { m.load.setQueue(1, 3) },
		"latency":   func(m *Member) { m.load.latency.Store(3 * ms); m.load.touched.Store(1) },
		"capacity":  func(m *Member) { m.load.capacity = 1; m.load.pool.members[1].load.capacity = 2 },
	} {
		v := crew(2, 0)
		burden(v.Members[0])
		require.Equal(t, map[MemberID]int{2: 100}, shares(v, PickRequest{}, 1, 100), name)
	}
}

// The own zone is served first, others help when it is busy, and only if that
// is quicker.
func TestOwnZoneFirstWithSpillOver(t *testing.T) {
	v := crew(6, 2)
	got := shares(v, PickRequest{}, 1, 1000)
	require.Equal(t, 1000, got[1]+got[2])

	for _, m := range v.Members[:2] {
		m.load.setQueue(1, 50)
	}
	got = shares(v, PickRequest{}, 1, 1000)
	require.Zero(t, got[1]+got[2], "busy: everything goes elsewhere")

	for _, m := range v.Members[2:] {
		m.load.latency.Store(1000 * ms)
		m.load.touched.Store(1)
	}
	got = shares(v, PickRequest{}, 1, 1000)
	require.Equal(t, 1000, got[1]+got[2], "busy, but elsewhere it would take longer still")

	later := 1 + 10*queueHalf
	got = shares(v, PickRequest{}, later, 1000)
	require.Equal(t, 1000, got[1]+got[2], "a queue of two seconds ago says nothing any more")
}

// An own zone without live members is no reason to fail.
func TestOtherZonesServeWhenTheOwnIsDown(t *testing.T) {
	v := crew(4, 2)
	v.Members[0].load.setFlag(flagLinkDown, true)
	v.Members[1].load.setFlag(flagSuspect, true)
	got := shares(v, PickRequest{}, 1, 1000)
	require.Equal(t, 1000, got[3]+got[4])
}

// Who was tried is not tried again, under any policy.
func TestExcludedMembersAreNeverChosen(t *testing.T) {
	v := crew(3, 1)
	for policy := PolicyLoad; policy <= PolicySticky; policy++ {
		r := PickRequest{Policy: policy, StickyKey: "k", Exclude: []MemberID{1, 3}}
		require.Equal(t, map[MemberID]int{2: 200}, shares(v, r, 1, 200), policy)
		r.Exclude = []MemberID{1, 2, 3}
		require.Empty(t, shares(v, r, 1, 10), policy)
	}
}

// Who is named is chosen in whatever state, and nobody else in its place.
func TestMemberPolicyTakesTheOneThatIsNamed(t *testing.T) {
	v := crew(4, 2)
	v.Members[2].load.setFlag(flagSuspect, true)
	r := PickRequest{Policy: PolicyMember, StickyKey: MemberID(3).String()}
	require.Equal(t, map[MemberID]int{3: 50}, shares(v, r, 1, 50))
	for _, nobody := range []PickRequest{
		{Policy: PolicyMember, StickyKey: MemberID(3).String(), Exclude: []MemberID{3}},
		{Policy: PolicyMember, StickyKey: MemberID(9).String()},
		{Policy: PolicyMember, StickyKey: "not an id"},
	} {
		require.Empty(t, shares(v, nobody, 1, 10))
	}
}

// Members out of rotation are a last resort, in the order of hope.
func TestMembersOutOfRotationAreALastResort(t *testing.T) {
	for policy := PolicyLoad; policy <= PolicyWeighted; policy++ {
		v := crew(4, 0)
		l := func(i int) *load { return v.Members[i].load }
		l(0).setFlag(flagLinkDown, true)
		l(1).setFlag(flagSuspect, true)
		l(2).ejected.Store(1 << 60)
		r := PickRequest{Policy: policy}
		require.Equal(t, map[MemberID]int{4: 50}, shares(v, r, 1, 50), policy)
		l(3).setFlag(flagGone, true)
		require.Equal(t, map[MemberID]int{3: 50}, shares(v, r, 1, 50), "ejected before suspect")
		l(2).setFlag(flagGone, true)
		require.Equal(t, map[MemberID]int{2: 50}, shares(v, r, 1, 50), "suspect before unreachable")
		l(1).setFlag(flagGone, true)
		require.Equal(t, map[MemberID]int{1: 50}, shares(v, r, 1, 50), "unreachable rather than nobody")
		r.Exclude = []MemberID{4}
		require.Empty(t, shares(v, r, 1, 50), "but not for a second try")
	}
}

// The state shown is the worst that is known.
func TestStateIsTheWorstThatIsKnown(t *testing.T) {
	m := crew(1, 0).Members[0]
	require.Equal(t, "live", m.State())
	m.load.ejected.Store(1)
	require.Equal(t, "ejected", m.State())
	m.load.setFlag(flagLinkSuspect, true)
	require.Equal(t, "suspect", m.State())
	m.load.setFlag(flagLinkDown, true)
	require.Equal(t, "unreachable", m.State())
	m.load.setFlag(flagLinkDown, false)
	m.load.setFlag(flagLinkSuspect, false)
	m.load.ejected.Store(0)
	require.Equal(t, "live", m.State())
	m.load.setFlag(flagGone, true)
	require.Equal(t, "gone", m.State())
}

// A pick costs no allocation, whatever the policy.
func TestPickDoesNotAllocate(t *testing.T) {
	v := crew(64, 20)
	exclude := []MemberID{7}
	for policy := PolicyLoad; policy <= PolicySticky; policy++ {
		r := PickRequest{Policy: policy, StickyKey: "key", Exclude: exclude}
		seed := uint64(0)
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			seed++
			m := pick(v, r, 1, mix(seed))
			m.Begin()
			m.load.inflight.Add(-1)
			m.load.observe(1, Result{Latency: time.Millisecond})
		}), policy)
	}
}

// stickyByScan is the second opinion: sort by score, take the first.
func stickyByScan(v *View, key string) MemberID {
	all := slices.Clone(v.Members)
	slices.SortFunc(all, func(a, b *Member) int {
		if affinity(hashString(key), a.ID) > affinity(hashString(key), b.ID) {
			return -1
		}
		return 1
	})
	return all[0].ID
}

// Sticky keys spread evenly, do not depend on the caller, and when a member
// goes or comes only the keys move that it had or gets.
func TestStickyMovesNoMoreKeysThanItMust(t *testing.T) {
	const keys = 20_000
	v := crew(10, 3)
	smaller := viewOf(newPool(), slices.Delete(slices.Clone(v.Members), 4, 5))
	other := &View{Members: v.Members, pool: v.pool, tiers: newTiers(v.pool, testPeer("other"), "far", v.Members)}
	share := make(map[MemberID]int)
	for i := range keys {
		r := PickRequest{Policy: PolicySticky, StickyKey: fmt.Sprint("key", i)}
		before := pick(v, r, 1, 0).ID
		require.Equal(t, stickyByScan(v, r.StickyKey), before)
		require.Equal(t, before, pick(other, r, 1, 99).ID)
		share[before]++
		if after := pick(smaller, r, 1, 0).ID; before != 5 {
			require.Equal(t, before, after, "only keys of the member that left may move")
		}
	}
	for id, n := range share {
		require.InDelta(t, keys/10, n, keys/10/8, id)
	}
}

// A sticky key stays with a member that is ejected, moves on from one that
// can't be reached, and comes back.
func TestStickyLeavesOnlyWhoCanNotBeReached(t *testing.T) {
	v := crew(5, 0)
	r := PickRequest{Policy: PolicySticky, StickyKey: "k"}
	home := pick(v, r, 1, 0)
	home.load.ejected.Store(1 << 60)
	require.Same(t, home, pick(v, r, 1, 0))
	home.load.setFlag(flagLinkDown, true)
	away := pick(v, r, 1, 0)
	require.NotSame(t, home, away)
	home.load.setFlag(flagLinkDown, false)
	require.Same(t, home, pick(v, r, 1, 0))
}

// A caller of a large cluster works with 64 members; callers together use all
// of them evenly, and one member more or less changes one place at most.
func TestCallersWorkWithASubsetOfLargeClusters(t *testing.T) {
	v := crew(300, 0)
	require.Len(t, v.tiers[0].one, subsetSize)
	require.Len(t, v.tiers[0].all, 300)
	used := make(map[MemberID]int)
	for i := range 300 {
		self := testPeer(fmt.Sprint("caller", i))
		mine := subset(self, v.Members, subsetSize)
		require.True(t, slices.IsSortedFunc(mine, compareMembers))
		ranked := slices.Clone(v.Members)
		slices.SortFunc(ranked, func(a, b *Member) int {
			key := hashString(string(self))
			return cmp.Compare(affinity(key, b.ID), affinity(key, a.ID))
		})
		for _, m := range ranked[:subsetSize] {
			require.Contains(t, mine, m)
		}
		for _, m := range mine {
			used[m.ID]++
		}
		smaller := subset(self, v.Members[1:], subsetSize)
		kept := 0
		for _, m := range smaller {
			if slices.Contains(mine, m) {
				kept++
			}
		}
		require.GreaterOrEqual(t, kept, subsetSize-1)
	}
	require.Len(t, used, 300)
	for id, n := range used {
		require.InDelta(t, subsetSize, n, 40, id)
	}
	got := shares(v, PickRequest{}, 1, 10_000)
	require.LessOrEqual(t, len(got), subsetSize)
}

func TestAnEmptyViewHasNobodyToPick(t *testing.T) {
	v := crew(0, 0)
	for policy := PolicyLoad; policy <= PolicySticky; policy++ {
		require.Nil(t, pick(v, PickRequest{Policy: policy}, 1, 7))
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{1, 3, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := crew(n, 0)
			seed := uint64(0)
			for b.Loop() {
				seed++
				pick(v, PickRequest{}, 1, mix(seed))
			}
		})
	}
}

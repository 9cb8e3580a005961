// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// federated makes a view of two native members (1, 2), two from eu of priority 1
// (11, 12) and one from us of priority 2 (21).
func federated() *View {
	return federatedOf(newMembers(
		Member{ID: 1, Network: "home"},
		Member{ID: 2, Network: "home"},
		Member{ID: 11, Network: "eu", Imported: true, Priority: 1},
		Member{ID: 12, Network: "eu", Imported: true, Priority: 1},
		Member{ID: 21, Network: "us", Imported: true, Priority: 2},
	))
}

// newMembers completes members of capacity 1, in a pool of their own.
func newMembers(of ...Member) (p *pool, members []*Member) {
	p = newPool()
	for _, m := range of {
		m.Capacity, m.Peer = 1, testPeer(m.ID.String())
		m.load = newLoad(p.ofRank(m.rank()), 1)
		members = append(members, &m)
	}
	return p, members
}

func federatedOf(p *pool, members []*Member) *View {
	v := &View{Members: members, Known: true, Complete: true, pool: p, tiers: newTiers(p, testPeer("caller"), "", members)}
	v.networks = byNetwork(v, testPeer("caller"), "")
	p.setTiers(v.tiers)
	return v
}

// mark sets or clears a flag of the members of these ids.
func (v *View) mark(flag uint32, on bool, ids ...MemberID) {
	for _, m := range v.Members {
		for _, id := range ids {
			if m.ID == id {
				m.load.setFlag(flag, on)
			}
		}
	}
}

// Members of this network come first, those of others in the order of their priority
// when there is nobody else, whatever the policy.
func TestImportedMembersServeOnlyWhenThereIsNobodyElse(t *testing.T) {
	for policy := PolicyLoad; policy <= PolicySticky; policy++ {
		v, now := federated(), int64(1)
		who := func() map[MemberID]int {
			now += spillEvery
			return shares(v, PickRequest{Policy: policy, StickyKey: "k"}, now, 200)
		}
		got := who()
		require.Equal(t, 200, got[1]+got[2], policy)
		v.mark(flagSuspect, true, 1, 2)
		got = who()
		require.Equal(t, 200, got[11]+got[12], policy)
		v.mark(flagLinkDown, true, 11, 12)
		require.Equal(t, map[MemberID]int{21: 200}, who(), policy)
		v.mark(flagLinkDown, true, 21)
		got = who()
		require.Equal(t, 200, got[1]+got[2], "suspect ones at home rather than unreachable ones elsewhere, policy %d", policy)
	}
}

// Who was tried is left out, so a second try goes to the next network once all at home
// have refused.
func TestTriesGoOnToTheNextNetwork(t *testing.T) {
	v := federated()
	require.Contains(t, []MemberID{11, 12}, pick(v, PickRequest{Exclude: []MemberID{1, 2}}, 1, 7).ID)
	require.Equal(t, MemberID(21), pick(v, PickRequest{Exclude: []MemberID{1, 2, 11, 12}}, 1, 7).ID)
}

// A named network is the only one that is asked; that it has nobody is only said when
// it is known.
func TestANamedNetworkIsTheOnlyOne(t *testing.T) {
	v := federated()
	for network, want := range map[string][]MemberID{"home": {1, 2}, "eu": {11, 12}, "us": {21}} {
		v.mark(flagLinkDown, true, want[0]) // the others are not asked for that
		for id := range shares(v, PickRequest{Network: network}, 1, 100) {
			require.Contains(t, want, id)
		}
		require.False(t, v.HasNone(network, nil))
	}
	require.Nil(t, pick(v, PickRequest{Network: "mars"}, 1, 7))
	require.True(t, v.HasNone("mars", nil))
	v.Complete = false
	require.False(t, v.HasNone("mars", nil))

	home := federatedOf(newPool(), v.Members[:2])
	require.NotNil(t, pick(home, PickRequest{Network: "home"}, 1, 7))
	require.Nil(t, pick(home, PickRequest{Network: "eu"}, 1, 7))
}

// What is for one network only goes by the priorities of its gateways, too, and whether
// they are saturated is another question than for what is for any network.
func TestANamedNetworkHasPrioritiesToo(t *testing.T) {
	v := federated()
	v.Members[4].Network = "eu"
	v = federatedOf(v.pool, v.Members)
	now := int64(1)
	who := func(network string) map[MemberID]int {
		now += spillEvery
		return shares(v, PickRequest{Network: network}, now, 200)
	}
	got := who("eu")
	require.Equal(t, 200, got[11]+got[12])
	v.mark(flagSuspect, true, 11, 12)
	require.Equal(t, map[MemberID]int{21: 200}, who("eu"))
	v.mark(flagSuspect, true, 21)
	v.mark(flagSuspect, false, 11, 12)
	for range spillAll / spillDown {
		who("eu")
	}
	got = who("eu")
	require.Equal(t, 200, got[11]+got[12])
	require.NotSame(t, v.networks["eu"][0].spill, v.tiers[1].spill)
}

// Who registers members chooses what their networks are called: what is kept for a name
// ends with the last member that has it.
func TestSpillsOfNetworksThatAreGoneAreForgotten(t *testing.T) {
	v := federated()
	p := v.pool
	for _, name := range []string{"a", "b", "c"} {
		v.Members[4].Network = name
		v = federatedOf(p, v.Members)
		p.setTiers(v.tiers)
	}
	for _, rank := range p.ranks {
		require.LessOrEqual(t, len(rank.spills), 1)
	}
	p.setTiers(nil)
	for _, rank := range p.ranks {
		require.Empty(t, rank.spills)
	}
}

// A single pool of medians would call members behind a slow line slow.
func TestDistanceIsNoReasonToEjectAnImportedMember(t *testing.T) {
	v := federated()
	for i := range int64(200) {
		for _, m := range v.Members {
			took := ms
			if m.Imported {
				took = 160 * ms
			}
			m.answer(i*1000*ms, time.Duration(took), wire.OutcomeReply)
		}
	}
	for _, m := range v.Members {
		require.Equal(t, "live", m.State(), m.ID)
	}
}

// A queue is long beside what the member does at once: what waits at one with few handlers
// and a short queue is much, and at one with many handlers little.
func TestSaturationIsRelativeToWhatAMemberCanDo(t *testing.T) {
	for _, x := range []struct {
		what      string
		capacity  int
		result    Result
		saturated bool
	}{
		{"the default concurrency, and little waits", 1, Result{Queue: 15, Running: 64}, false},
		{"the default concurrency, and a quarter of it waits", 1, Result{Queue: 16, Running: 64}, true},
		{"four handlers, and a queue of eight that is not full yet", 1, Result{Queue: 6, Running: 4}, true},
		{"four handlers, and one request waits", 1, Result{Queue: 1, Running: 4}, false},
		{"the same, whatever its weight", 10, Result{Queue: 6, Running: 4}, true},
		{"a thousand handlers", 1, Result{Queue: 200, Running: 1000}, false},
		{"a thousand handlers, and many wait", 1, Result{Queue: 250, Running: 1000}, true},
		{"it refuses, with the least of queues", 10, Result{Outcome: wire.OutcomeOverloaded}, true},
		{"pushes: those that run do not wait", 1, Result{Running: 40, Accepted: true}, false},
		{"pushes: those that wait do", 1, Result{Queue: 10, Running: 40, Accepted: true}, true},
		{"it has not told what runs there", 2, Result{Queue: 31}, false},
		{"likewise, and much waits", 2, Result{Queue: 32}, true},
	} {
		l := newLoad(newPool(), x.capacity)
		x.result.Latency = time.Millisecond
		l.observe(1, x.result)
		require.Equal(t, x.saturated, l.saturated(1), x.what)
	}
}

// works simulates one native member that serves rate requests per ms while it is up,
// of load requests per ms that come, for some virtual seconds. It returns the share of
// the work that has gone elsewhere, per 50 ms.
func works(t *testing.T, seconds, rate, load int, up func(second float64) bool) (away []float64) {
	t.Helper()
	v := federated()
	v = federatedOf(v.pool, v.Members[1:])
	m := v.Members[0]
	rng := rand.New(rand.NewPCG(3, 4))
	queue, out, all := 0, 0, 0
	for i := range int64(seconds * 1000) {
		now := 1 + i*ms
		m.load.setFlag(flagSuspect, !up(float64(i)/1000))
		for range load {
			all++
			if pick(v, PickRequest{}, now, rng.Uint64()).Imported {
				out++
			} else {
				queue++
			}
		}
		queue = max(0, queue-rate)
		m.load.setQueue(now, int64(queue))
		if i%50 == 49 {
			away = append(away, float64(out)/float64(all))
			out, all = 0, 0
		}
	}
	return away
}

// Half as much again as the native member can do: what it can't goes elsewhere, evenly,
// and not all of it now and nothing then.
func TestOnlyTheExcessSpillsOver(t *testing.T) {
	away := works(t, 20, 4, 6, func(float64) bool { return true })
	sum, jumps := 0.0, 0
	for i, share := range away[100:] {
		sum += share
		if i > 0 && (share-away[99+i] > 0.45 || away[99+i]-share > 0.45) {
			jumps++
		}
	}
	require.InDelta(t, 1.0/3, sum/float64(len(away)-100), 0.12)
	require.Zero(t, jumps)
	require.Zero(t, works(t, 5, 6, 4, func(float64) bool { return true })[20], "what it can do it does")
}

// A member that goes is replaced at once; one that comes back gets its work back within
// four seconds and in small steps; one that comes and goes each half second gets little.
func TestWorkComesBackWithoutFlapping(t *testing.T) {
	away := works(t, 12, 6, 4, func(s float64) bool { return s < 2 || s >= 4 })
	require.Zero(t, away[39])
	require.InDelta(t, 1, away[41], 0.01)
	require.InDelta(t, 1, away[79], 0.01)
	for i := 82; i < len(away); i++ {
		require.Less(t, away[i], away[i-1]+0.2)
		require.Greater(t, away[i], away[i-1]-0.2)
	}
	require.Zero(t, away[150])

	flapping := works(t, 20, 6, 4, func(s float64) bool { return s < 2 || int(s*2)%2 == 0 })
	sum := 0.0
	for _, share := range flapping[100:] {
		sum += share
	}
	require.Greater(t, sum/float64(len(flapping)-100), 0.85)
}

// A caller that hears of members elsewhere before those at home asks those at home as soon
// as it has heard of them: they have not failed.
func TestMembersAtHomeThatAreHeardOfLaterAreAskedAtOnce(t *testing.T) {
	all, now := federated(), int64(1)
	v := federatedOf(all.pool, all.Members[2:])
	for range 20 {
		now += spillEvery
		got := shares(v, PickRequest{}, now, 50)
		require.Equal(t, 50, got[11]+got[12])
	}
	v = federatedOf(all.pool, all.Members)
	got := shares(v, PickRequest{}, now+spillEvery, 200)
	require.Equal(t, 200, got[1]+got[2])
}

// One of two members at home is ejected, then the other one goes for good, and work goes
// elsewhere. The ejected one is probed when its time is over, and once it has answered the
// work comes back to it.
func TestAnEjectedMemberAtHomeIsProbedWhileOthersServe(t *testing.T) {
	v := federated()
	one, now := v.Members[0], int64(1)
	for range maxFailures {
		one.answer(now, time.Millisecond, wire.OutcomeUnreachable)
	}
	require.Equal(t, "ejected", one.State())
	v = federatedOf(v.pool, append([]*Member{one}, v.Members[2:]...))
	require.Zero(t, shares(v, PickRequest{}, now, 200)[1])
	now += ejectBase
	require.Equal(t, 1, shares(v, PickRequest{}, now, 200)[1], "the probe")
	one.answer(now, time.Millisecond, wire.OutcomeReply)
	require.Equal(t, "live", one.State())
	now += 4 * int64(time.Second)
	shares(v, PickRequest{}, now, 1)
	require.Equal(t, 200, shares(v, PickRequest{}, now+spillEvery, 200)[1])
}

// A pick among several networks costs no allocation either.
func TestPickAmongNetworksDoesNotAllocate(t *testing.T) {
	v, seed := federated(), uint64(0)
	v.mark(flagSuspect, true, 1, 2)
	for policy := PolicyLoad; policy <= PolicySticky; policy++ {
		for _, network := range []string{"", "eu"} {
			r := PickRequest{Policy: policy, StickyKey: "key", Network: network}
			require.Zero(t, testing.AllocsPerRun(1000, func() {
				seed++
				pick(v, r, int64(seed)*ms, mix(seed))
			}), policy)
		}
	}
}

// A message for all goes to each member of this network and to one for each other one:
// whichever answers, then whichever comes first.
func TestOneMemberStandsForEachOtherNetwork(t *testing.T) {
	v := federated()
	ids := func(network string) []MemberID { return idsOf(v.Everybody(network, nil)) }
	require.Equal(t, []MemberID{1, 2, 11, 21}, ids(""))
	v.mark(flagSuspect, true, 11)
	require.Equal(t, []MemberID{1, 2, 12, 21}, ids(""))
	v.Members[3].Priority = 9
	v.mark(flagSuspect, false, 11)
	require.Equal(t, []MemberID{11}, ids("eu"))
	require.Equal(t, []MemberID{1, 2}, ids("home"))
	require.Empty(t, ids("mars"))
}

// What has come across fewer borders is asked first, and stands for its network, whatever
// its gateway calls it.
func TestOfSeveralWaysTheShortestIsPreferred(t *testing.T) {
	id := func(n byte) security.NetworkID { return security.NetworkID{n} }
	const eu, us, asia = 1, 2, 3
	v := federatedOf(newMembers(
		Member{ID: 11, Network: "europe", Imported: true, Priority: 9, Networks: []security.NetworkID{id(eu), id(us)}},
		Member{ID: 12, Network: "eu", Imported: true, Priority: 9, Networks: []security.NetworkID{id(eu)}},
		Member{ID: 13, Network: "asia", Imported: true, Priority: 10, Networks: []security.NetworkID{id(asia)}},
	))
	who := func(tr *Transit) []MemberID { return idsOf(v.Everybody("", tr)) }
	picks := func(tr *Transit) map[MemberID]int { return shares(v, PickRequest{Transit: tr}, 1, 100) }
	require.Equal(t, []MemberID{12, 13}, who(nil))
	require.Equal(t, map[MemberID]int{12: 100}, picks(nil))
	v.mark(flagSuspect, true, 12)
	require.Equal(t, []MemberID{11, 13}, who(nil))
	v.mark(flagSuspect, false, 12)

	through := &Transit{Origin: id(eu), Passed: []security.NetworkID{id(asia)}}
	require.Equal(t, []MemberID{12}, who(through))
	require.Equal(t, map[MemberID]int{12: 100}, picks(through))
	v.mark(flagLinkDown, true, 12)
	require.Equal(t, map[MemberID]int{11: 100}, picks(through))
	through.Passed = append(through.Passed, id(us))
	v.mark(flagLinkDown, false, 12)
	require.Equal(t, map[MemberID]int{12: 100}, picks(through), "not through us")
	require.False(t, v.HasNone("", through))
	for _, nobody := range []*Transit{{}, {Origin: id(us)}, {Origin: id(asia), Passed: []security.NetworkID{id(asia)}}} {
		require.Empty(t, who(nobody))
		require.Nil(t, pick(v, PickRequest{Transit: nobody}, 1, 1))
		require.Nil(t, pick(v, PickRequest{Policy: PolicySticky, Transit: nobody}, 1, 1))
		require.Nil(t, pick(v, PickRequest{Policy: PolicyMember, StickyKey: MemberID(11).String(), Transit: nobody}, 1, 1))
		require.True(t, v.HasNone("", nobody))
	}
}

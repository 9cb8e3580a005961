// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// Decay in integers follows the exponential closely, and never rises.
func TestHalveFollowsTheExponential(t *testing.T) {
	const v, half = 1 << 40, int64(2 * time.Second)
	last := int64(v)
	for age := int64(0); age < 20*half; age += half / 37 {
		got := halve(v, age, half)
		exact := float64(v) * math.Exp2(-float64(age)/float64(half))
		require.InEpsilon(t, exact, float64(got), 0.07)
		require.LessOrEqual(t, got, last)
		last = got
	}
	require.Zero(t, halve(v, 100*half, half))
	require.Equal(t, int64(5), halve(5, -3, half), "a clock that steps back changes nothing")
}

// A slow reply counts at once, its memory fades, and it ends at the median of
// the others, so that the member is tried again.
func TestLatencyRisesAtOnceAndFades(t *testing.T) {
	v := crew(2, 0)
	m := v.Members[0]
	m.answer(1, time.Second, wire.OutcomeReply)
	require.Equal(t, firstLatency, m.load.latency.Load(), "the first reply, which paid for the link, counts as the usual")
	m.answer(2, 101*time.Millisecond, wire.OutcomeReply)
	require.Equal(t, 51*ms, m.load.latency.Load())
	base := v.pool.base.Load()
	require.InDelta(t, base+(51*ms-base)/2, m.load.expected(2+latencyHalf, base), float64(ms))
	require.InDelta(t, base, m.load.expected(2+20*latencyHalf, base), float64(ms))
	m.answer(2+latencyHalf, 2*time.Millisecond, wire.OutcomeReply)
	require.InDelta(t, 26*ms, m.load.latency.Load(), float64(2*ms))
}

// A reported queue is believed, and less so as it grows old.
func TestReportedQueueFades(t *testing.T) {
	l := crew(1, 0).Members[0].load
	l.observe(5, Result{Outcome: wire.OutcomeReply, Queue: 40})
	require.Equal(t, int64(40), l.waiting(5))
	require.Equal(t, int64(20), l.waiting(5+queueHalf))
	require.Zero(t, l.waiting(5+10*queueHalf))
	l.observe(6, Result{Outcome: wire.OutcomeOverloaded})
	require.Equal(t, int64(overloadQueue), l.waiting(6), "who refuses is full, whatever it says")
}

// A member that gets ten times slower is out of rotation within a few dozen
// replies, and its share falls to the probes.
func TestSlowMemberIsEjected(t *testing.T) {
	v := crew(5, 0)
	now := int64(1)
	run := func(slow time.Duration, d time.Duration) map[MemberID]int {
		rng := rand.New(rand.NewPCG(3, 4))
		got := make(map[MemberID]int)
		for end := now + int64(d); now < end; now += ms {
			m := pick(v, PickRequest{}, now, rng.Uint64())
			got[m.ID]++
			took := 5 * time.Millisecond
			if m.ID == 3 {
				took = slow
			}
			m.answer(now, took, wire.OutcomeReply)
		}
		return got
	}
	got := run(5*time.Millisecond, time.Second)
	require.Greater(t, got[3], 100)
	require.Equal(t, "live", v.Members[2].State())

	// By load alone the slow one is hardly chosen; make it be, to learn.
	for range 40 {
		v.Members[2].answer(now, 50*time.Millisecond, wire.OutcomeReply)
	}
	require.Equal(t, "ejected", v.Members[2].State())
	got = run(50*time.Millisecond, 10*time.Second)
	require.LessOrEqual(t, got[3], 4, "probes after 1, 2, 4 … seconds")
	require.GreaterOrEqual(t, got[3], 2)
	require.Equal(t, "ejected", v.Members[2].State())

	got = run(5*time.Millisecond, 20*time.Second)
	require.Equal(t, "live", v.Members[2].State(), "quick again: the next probe brings it back")
	require.Greater(t, got[3], 500)
}

// Three failures in a row, or failing half of the time, eject.
func TestFailingMemberIsEjected(t *testing.T) {
	v := crew(4, 0)
	bad, flaky, fine := v.Members[0], v.Members[1], v.Members[2]
	for range maxFailures {
		require.Equal(t, "live", bad.State())
		bad.answer(1, 0, wire.OutcomeFailed)
	}
	require.Equal(t, "ejected", bad.State())
	for i := range 60 {
		flaky.answer(1, time.Millisecond, map[bool]wire.Outcome{true: wire.OutcomeReply, false: wire.OutcomeFailed}[i%3 == 2])
		fine.answer(1, time.Millisecond, map[bool]wire.Outcome{true: wire.OutcomeFailed, false: wire.OutcomeReply}[i%4 == 3])
	}
	require.Equal(t, "ejected", flaky.State())
	require.Equal(t, "live", fine.State())
}

// Refusals of the application, overload and cancellation eject nobody.
func TestOnlyFailuresAndSlownessEject(t *testing.T) {
	for _, o := range []wire.Outcome{wire.OutcomeRemoteError, wire.OutcomeOverloaded, wire.OutcomeCancelled} {
		v := crew(3, 0)
		for range 100 {
			v.Members[0].answer(1, time.Millisecond, o)
		}
		require.Equal(t, "live", v.Members[0].State(), o)
	}
}

// At most half of the members are ejected, and a single one never is.
func TestAtMostHalfAreEjected(t *testing.T) {
	for n := 1; n <= 7; n++ {
		v := crew(n, 0)
		for _, m := range v.Members {
			for range 10 {
				m.answer(1, 0, wire.OutcomeFailed)
			}
		}
		out := 0
		for _, m := range v.Members {
			if m.State() == "ejected" {
				out++
			}
		}
		require.Equal(t, n/2, out, n)
	}
}

// Each further ejection lasts twice as long, up to half a minute; a healthy
// minute forgives.
func TestEjectionGrowsAndIsForgiven(t *testing.T) {
	v := crew(2, 0)
	m := v.Members[0]
	now := int64(1)
	fail := func() int64 {
		m.fail(now)
		return m.load.ejected.Load() - now
	}
	want := ejectBase
	for range 7 {
		require.Equal(t, min(want, ejectMax), fail())
		now = m.load.ejected.Load()
		require.Same(t, m, v.pool.claimProbe(&picking{now: now}, v.tiers[0].one))
		m.answer(now, time.Millisecond, wire.OutcomeReply)
		require.Equal(t, "live", m.State())
		want *= 2
	}
	now += forgiveAfter + 1
	require.Equal(t, ejectBase, fail())
}

// One request at a time probes a member whose ejection is over; if its outcome
// is never told, another one may.
func TestOneProbeAtATime(t *testing.T) {
	v := crew(2, 0)
	m := v.Members[0]
	m.fail(1)
	end := m.load.ejected.Load()
	probe := func(now int64) *Member { return v.pool.claimProbe(&picking{now: now}, v.tiers[0].one) }
	require.Nil(t, probe(end-1), "not yet")
	require.Same(t, m, probe(end))
	require.Nil(t, probe(end), "one is under way")
	require.Same(t, m, probe(end+probeFor), "nobody ever said how it went")
	m.answer(end+probeFor, 0, wire.OutcomeFailed)
	require.Nil(t, probe(end+probeFor), "it failed: out for longer")
	again := m.load.ejected.Load()
	require.Equal(t, end+probeFor+2*ejectBase, again)
	require.Same(t, m, probe(again))
	m.answer(again, 0, wire.OutcomeCancelled)
	require.Same(t, m, probe(again), "a cancelled probe proves nothing")
	m.answer(again, 0, wire.OutcomeOverloaded)
	require.Equal(t, "live", m.State(), "full, but alive")
}

// Within one member a few very slow requests are no reason to eject.
func TestHeavyTailDoesNotEject(t *testing.T) {
	v := crew(4, 0)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 4000 {
		took := time.Millisecond
		if rng.IntN(10) == 0 {
			took = time.Second
		}
		v.Members[i%4].answer(int64(i)*ms, took, wire.OutcomeReply)
	}
	for _, m := range v.Members {
		require.Equal(t, "live", m.State())
	}
}

// Many goroutines may pick and report at once.
func TestPickAndDoneAreSafeTogether(t *testing.T) {
	v := crew(8, 3)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range int64(2000) {
				now := i * ms
				m := pick(v, PickRequest{Policy: Policy(rng.IntN(5)), StickyKey: "k"}, now, rng.Uint64())
				m.Begin()
				m.load.inflight.Add(-1)
				m.load.observe(now, Result{Outcome: wire.Outcome(rng.IntN(wire.OutcomeCount)), Latency: time.Duration(rng.IntN(1e7))})
				v.pool.refresh(now)
				if i%500 == 0 {
					v.pool.setMembers(v.Members)
				}
			}
		})
	}
	wg.Wait()
	for _, m := range v.Members {
		require.Zero(t, m.Inflight())
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seeded is a Jitter for tests.
func seeded(seed uint64) Jitter { return rand.New(rand.NewPCG(seed, 0)) }

// livenessRun plays a peer's life against the core with a timer that may be
// late, and records what the core does, at ms after the beginning.
type livenessRun struct {
	core  liveness
	start time.Time
	now   time.Time
	wake  time.Time
	v     vitals
	log   []livenessNote
}

type livenessNote struct {
	at   int
	what string
}

func newLivenessRun(seed uint64) *livenessRun {
	start := time.Unix(1000, 0)
	r := &livenessRun{
		core:  liveness{interval: 400 * time.Millisecond, rtt: time.Millisecond, limit: 10 * time.Second, rand: seeded(seed)},
		start: start, now: start,
	}
	r.core.begin(start)
	r.v.heard = start
	return r
}

func (r *livenessRun) note(what string) {
	r.log = append(r.log, livenessNote{int(r.now.Sub(r.start) / time.Millisecond), what})
}

func (r *livenessRun) hold() {
	r.v.since = r.now
	if r.wake.IsZero() {
		r.step()
	}
}

func (r *livenessRun) release() { r.v.since = time.Time{} }

func (r *livenessRun) hear() {
	r.v.heard = r.now
	if r.core.suspect && r.core.heard(r.now) {
		r.note("recovered")
	}
}

func (r *livenessRun) step() {
	a := r.core.step(r.now, r.v)
	for _, each := range []struct {
		is   bool
		what string
	}{{a.suspect, "suspect"}, {a.ping, "ping"}, {a.close, "close"}} {
		if each.is {
			r.note(each.what)
		}
	}
	r.wake = a.wake
}

// until lets time pass up to ms; the timer is late by the given time.
func (r *livenessRun) until(ms int, late time.Duration) {
	end := r.start.Add(time.Duration(ms) * time.Millisecond)
	for !r.wake.IsZero() && !r.wake.Add(late).After(end) {
		r.now = r.wake.Add(late)
		r.step()
	}
	r.now = end
}

func (r *livenessRun) count(what string) int {
	n := 0
	for _, e := range r.log {
		if e.what == what {
			n++
		}
	}
	return n
}

func (r *livenessRun) first(what string) int {
	for _, e := range r.log {
		if e.what == what {
			return e.at
		}
	}
	return -1
}

// This test checks the life of a peer that falls silent, with many jitters:
// asked twice, suspect after three intervals, given up after ten seconds.
func TestSilentPeerBecomesSuspectAndIsGivenUp(t *testing.T) {
	for seed := range uint64(200) {
		r := newLivenessRun(seed)
		r.hold()
		r.until(20_000, 0)
		require.InDelta(t, 400, r.first("ping"), 41)
		require.Equal(t, 1200, r.first("suspect"))
		pings := 0
		for _, e := range r.log {
			if e.what == "ping" && e.at < 1200 {
				pings++
			}
		}
		require.GreaterOrEqual(t, pings, 2)
		require.Equal(t, 10_000, r.first("close"))
		require.Equal(t, "close", r.log[len(r.log)-1].what)
		require.Equal(t, 1, r.count("suspect"))
		require.InDelta(t, 24, r.count("ping"), 3, "asked on, so that a recovery is noticed")
		require.True(t, r.wake.IsZero())
	}
}

// This test checks that bytes within each interval suppress all asking.
func TestTrafficSuppressesHeartbeats(t *testing.T) {
	r := newLivenessRun(1)
	r.hold()
	for ms := 0; ms < 10_000; ms += 300 {
		r.until(ms, 0)
		r.hear()
	}
	require.Empty(t, r.log)
}

// This test checks that nobody's interest means no timer, and that interest
// in a link that was idle for long counts from its own beginning.
func TestInterestInAnIdleLinkCountsFromItsBeginning(t *testing.T) {
	r := newLivenessRun(1)
	r.until(60_000, 0)
	require.True(t, r.wake.IsZero())
	r.hold()
	r.until(70_000, 0)
	require.Equal(t, 61_200, r.first("suspect"))
	require.InDelta(t, 60_400, r.first("ping"), 41)

	r = newLivenessRun(1)
	r.hold()
	r.until(200, 0)
	r.release()
	r.until(60_000, 0)
	require.Empty(t, r.log)
	require.True(t, r.wake.IsZero(), "the timer lapses")
}

// This test checks that interest which comes and goes faster than the timer is
// neither forgotten nor dated back.
func TestInterestMayComeAndGoWhileTheTimerRuns(t *testing.T) {
	r := newLivenessRun(1)
	for ms := 0; ms < 5000; ms += 50 {
		r.until(ms, 0)
		r.hold()
		r.until(ms+20, 0)
		r.release()
	}
	r.until(5000, 0)
	require.Empty(t, r.log)
	r.hold()
	r.until(8000, 0)
	require.Equal(t, 6200, r.first("suspect"))
}

// This test checks that a node whose own timer ran late suspects nobody, asks
// at once instead, and judges again from there.
func TestStalledNodeSuspectsNobody(t *testing.T) {
	r := newLivenessRun(1)
	r.hold()
	r.until(300, 0)
	r.now = r.start.Add(5 * time.Second) // stopped for 4.7 s
	r.step()
	require.Equal(t, []livenessNote{{5000, "ping"}}, r.log)
	r.until(7000, 0)
	require.Equal(t, 6200, r.first("suspect"))

	r = newLivenessRun(1)
	r.hold()
	r.until(5000, 0)
	require.Equal(t, 1200, r.first("suspect"))
	r.now = r.start.Add(30 * time.Second)
	r.step()
	require.Equal(t, -1, r.first("close"), "nor gives anybody up")
	r.until(60_000, 0)
	require.Equal(t, 40_000, r.first("close"))
}

// This test checks that a timer that is a little late is not taken for a
// stall.
func TestTimerMayBeALittleLate(t *testing.T) {
	r := newLivenessRun(1)
	r.hold()
	r.until(2000, 50*time.Millisecond)
	require.InDelta(t, 1250, r.first("suspect"), 50)
}

// This test checks that the first byte ends the suspicion, and the next
// silence begins another one.
func TestFirstByteEndsTheSuspicion(t *testing.T) {
	r := newLivenessRun(1)
	r.hold()
	r.until(3000, 0)
	r.hear()
	r.until(9000, 0)
	var notes []livenessNote
	for _, e := range r.log {
		if e.what != "ping" {
			notes = append(notes, e)
		}
	}
	require.Equal(t, []livenessNote{{1200, "suspect"}, {3000, "recovered"}, {4200, "suspect"}}, notes)
}

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

// This test checks the life of a peer that falls silent, with many jitters:
// asked twice, suspect after three intervals, given up after ten seconds. The scripts
// in testdata/liveness have the other stories, without jitter.
func TestSilentPeerBecomesSuspectAndIsGivenUp(t *testing.T) {
	first := func(log []livenessNote, what string) time.Duration {
		for _, n := range log {
			if n.what == what {
				return n.at
			}
		}
		return -1
	}
	for seed := range uint64(200) {
		r := newLivenessRun(liveness{
			interval: 400 * time.Millisecond, rtt: time.Millisecond, limit: 10 * time.Second, rand: seeded(seed),
		})
		r.want()
		r.until(20*time.Second, 0)
		require.InDelta(t, 400*time.Millisecond, first(r.log, "ask"), float64(41*time.Millisecond))
		require.Equal(t, 1200*time.Millisecond, first(r.log, "suspect"))
		require.Equal(t, 10*time.Second, first(r.log, "close"))
		require.Equal(t, "close", r.log[len(r.log)-1].what)
		asked, early, suspect := 0, 0, 0
		for _, n := range r.log {
			switch {
			case n.what == "suspect":
				suspect++
			case n.what == "ask" && n.at < 1200*time.Millisecond:
				early++
				fallthrough
			case n.what == "ask":
				asked++
			}
		}
		require.GreaterOrEqual(t, early, 2)
		require.Equal(t, 1, suspect)
		require.InDelta(t, 24, asked, 3, "asked on, so that a recovery is noticed")
		require.True(t, r.wake.IsZero())
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/world"
)

const second = scenario.Duration(time.Second)

// crash is five members, three callers, a crash and a return.
func crash() scenario.Scenario {
	return scenario.Scenario{
		Name: "crash", Seed: 1, Duration: 6 * second, Settle: 4 * second,
		Nodes:    []scenario.Nodes{{Name: "m", Count: 5}, {Name: "c", Count: 3}},
		Clusters: []scenario.Cluster{{Name: "echo", Members: []string{"m1", "m2", "m3", "m4", "m5"}, Handler: scenario.Handler{Kind: "echo"}}},
		Workload: []scenario.Work{{Name: "idem", Kind: "request", From: []string{"c1", "c2", "c3"}, To: "echo", Rate: 1000, Idempotent: true}},
		Timeline: []scenario.Action{
			{At: 2 * second, Do: "crash", Nodes: []string{"m2"}},
			{At: 4 * second, Do: "restart", Nodes: []string{"m2"}},
		},
	}
}

// run plays a scenario at level sim.
func run(t *testing.T, s scenario.Scenario, o play.Options) (*history.History, *sim.Trace) {
	t.Helper()
	var h *history.History
	trace := sim.Run(t, sim.Config{Seed: s.Seed}, func(t *testing.T, n *sim.Network) {
		var err error
		h, err = play.Play(context.Background(), world.New(n, world.Config{Seed: s.Seed}), s, o)
		require.NoError(t, err)
	})
	return h, trace
}

// This test checks that a history has all that happened: lives, tenures,
// requests with one outcome each, runs that belong to them, faults with an end,
// views that follow, and samples.
func TestHistoryHasAllThatHappened(t *testing.T) {
	h, trace := run(t, crash(), play.Options{})
	require.NotZero(t, trace.Events)
	require.Len(t, h.Nodes, 9)
	require.Len(t, h.Tenures, 6)
	require.InDelta(t, 6000+3*8, len(h.Requests), 20)
	outcomes := map[string]int{}
	for _, q := range h.Requests {
		outcomes[q.Outcome]++
		require.Equal(t, 1, q.Outcomes, q)
	}
	require.Len(t, h.Views, 3*(5+3)+1, "five members, then one suspect, gone, and back; who had a link to it sees that end, too")
	require.NotEmpty(t, h.Samples)
	require.Equal(t, map[string]int{"reply": len(h.Requests)}, outcomes)
	require.GreaterOrEqual(t, len(h.Runs), len(h.Requests))
	require.Len(t, h.Faults, 1)
	require.Greater(t, h.Faults[0].Until, h.Faults[0].At)
}

// This test checks that playing the same scenario twice is the same run.
func TestPlayingTwiceIsTheSameRun(t *testing.T) {
	first, a := run(t, crash(), play.Options{})
	second, b := run(t, crash(), play.Options{})
	require.Equal(t, a.Hash, b.Hash)
	require.Equal(t, first, second)
}

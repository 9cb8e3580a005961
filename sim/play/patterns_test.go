// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/world"
)

// everything is a work of each kind, and a crash.
const everything = `
name: everything
duration: 6s
settle: 9s
nodes:
  - {name: m, count: 4}
  - {name: c, count: 2}
clusters:
  - {name: echo, members: m, limits: {concurrency: 1}}
subscriptions:
  - {name: all, nodes: [m, c], pattern: "news.>"}
  - {name: late, nodes: c, pattern: "news.1", start: 2s, stop: 4s}
  - {name: shared, nodes: m, pattern: "news.*", queue: desk}
  - {name: slow, nodes: m1, pattern: "news.>", work: 50ms, queue_length: 3}
workload:
  - {name: asked, kind: survey, from: c, to: echo, rate: 10}
  - {name: given, kind: push, from: c, to: echo, rate: 20}
  - {name: told, kind: broadcast, from: c, to: echo, rate: 10}
  - {name: ticks, kind: publish, from: c, to: news, topics: 2, rate: 50}
  - {name: pipe, kind: tunnel, from: c, to: echo, rate: 2, messages: 20, every: 10ms, size: 1KiB}
timeline:
  - {at: 3s, do: crash, nodes: m2, for: 1s}
`

// expanded is the scenario of a file.
func expanded(t *testing.T, file string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	s, err = s.Expand()
	require.NoError(t, err)
	return s
}

// This test checks that what is surveyed, pushed, broadcast, published and
// tunnelled is in the history, with what came of it on the other side, and
// that no checker objects.
func TestEveryPatternIsInTheHistory(t *testing.T) {
	h, _ := run(t, expanded(t, everything))
	kinds := map[string]int{}
	for _, q := range h.Requests {
		kinds[q.Kind]++
		switch {
		case q.Kind == "survey" && q.Outcome == "complete":
			require.Len(t, q.Answers, q.Taken)
		case q.Kind == "broadcast" && q.Outcome == "complete":
			require.Equal(t, q.Taken, q.Nodes)
		}
	}
	require.Equal(t, map[string]int{"survey": 60, "broadcast": 60, "push": 120, "": kinds[""]}, kinds)
	require.Len(t, h.Subscriptions, 6+2+4+1+2, "m2 subscribes again when it is back")
	require.GreaterOrEqual(t, len(h.Publications), 300)
	require.Greater(t, len(h.Deliveries), 1000)
	require.NotEmpty(t, h.Gaps)
	require.Len(t, h.Tunnels, 12)
	there, carried := int64(0), history.Carried{}
	for _, c := range h.Carried {
		require.Zero(t, c.At%history.CarriedEvery)
		carried.Forth, carried.Back = carried.Forth+c.Forth, carried.Back+c.Back
	}
	for _, x := range h.Tunnels {
		there += int64(x.Forth.Received * x.Size)
		carried.Back -= int64(x.Back.Received * x.Size)
	}
	require.Positive(t, there)
	require.Equal(t, history.Carried{Forth: there}, carried, "what was received is what was carried")
	for _, x := range h.Tunnels {
		require.Len(t, x.Served, 1)
		if x.Outcome == "done" {
			require.Equal(t, 20, x.Back.Received)
		}
	}
	for _, s := range h.Subscriptions {
		if s.Name == "late" {
			require.InDelta(t, h.Start+4*time.Second, s.Leaving, float64(time.Millisecond))
		}
	}
	v := check.Judge(h, check.Rules{Assert: []string{
		"lost == 0", "unreported == 0", "gaps_slow{slow} > 0", "completeness == 100%", "tunnels_done > 8",
	}})
	require.Empty(t, v.Violations)
	for _, a := range v.Assertions {
		require.True(t, a.OK, "%s: %s%s", a.Text, a.Value, a.Reason)
	}
}

// This test checks that playing the same scenario twice is the same run, of every
// pattern, too.
func TestPlayingTwiceIsTheSameRun(t *testing.T) {
	for _, s := range []scenario.Scenario{crash(), expanded(t, everything)} {
		t.Run(s.Name, func(t *testing.T) {
			first, a := run(t, s)
			second, b := run(t, s)
			require.Equal(t, a.Hash, b.Hash)
			require.Equal(t, first, second)
		})
	}
}

// This test checks that what undoes a degradation or a skew is recorded as its
// end, not as a fault of its own, although it comes link by link.
func TestWhatUndoesAFaultEndsIt(t *testing.T) {
	h, _ := run(t, expanded(t, `
name: ends
duration: 4s
settle: 3s
nodes:
  - {name: m, count: 2}
  - {name: c, count: 2}
clusters:
  - {name: echo, members: [m], handler: {kind: echo}}
links:
  - {between: [m1, c], latency: 2ms}
  - {between: [m2, c1], latency: 3ms}
workload:
  - {name: load, from: [c], to: echo, rate: 20}
timeline:
  - {at: 1s, do: degrade, between: [m, c], link: {latency: 9ms}, for: 1s}
  - {at: 1s, do: skew, nodes: [c1], offset: 1m, for: 2s}
`))
	require.Len(t, h.Faults, 2)
	for i, want := range []time.Duration{time.Second, 2 * time.Second} {
		f := h.Faults[i]
		require.Equal(t, []string{"degrade", "skew"}[i], f.Do)
		require.InDelta(t, want, f.Until-f.At, float64(time.Millisecond))
	}
}

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
func run(t *testing.T, s scenario.Scenario) (*history.History, *sim.Trace) {
	t.Helper()
	var h *history.History
	trace := sim.Run(t, sim.Config{Seed: s.Seed}, func(t *testing.T, n *sim.Network) {
		var err error
		h, err = play.Play(context.Background(), world.New(n, world.Config{Seed: s.Seed}), s, play.Options{})
		require.NoError(t, err)
	})
	return h, trace
}

// This test checks that a history has all that happened: lives, tenures,
// requests with one outcome each, runs that belong to them, faults with an end,
// views that follow, and samples.
func TestHistoryHasAllThatHappened(t *testing.T) {
	h, trace := run(t, crash())
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// This test checks that who was excluded, or may do nothing, is no correct observer at the
// end, though it is alive: what it believes of others, which it dials in vain, is nobody's
// promise.
func TestWhoIsExcludedIsNoCorrectObserver(t *testing.T) {
	h, _ := run(t, expanded(t, `
name: out
duration: 8s
settle: 5s
nodes:
  - {name: m, count: 3, certificate: all}
  - {name: thief, certificate: all}
  - {name: nobody, certificate: nothing}
clusters:
  - {name: echo, members: m}
workload:
  - {name: asked, from: [m, thief], to: echo, rate: 10}
timeline:
  - {at: 1s, do: revoke, nodes: thief, for: 5s}
`))
	correct := map[string]bool{}
	for _, n := range h.Nodes {
		correct[n.Name] = n.Correct
		require.False(t, n.Correct && n.Until >= 0, "%s: of the lives of a node the last one", n.Name)
	}
	require.Equal(t, map[string]bool{"m1": true, "m2": true, "m3": true, "thief": false, "nobody": false}, correct)
}

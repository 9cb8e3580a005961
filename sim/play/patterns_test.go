// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
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

func everythingExpanded(t *testing.T) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("everything.yaml", []byte(everything))
	require.NoError(t, err)
	s, err = s.Expand()
	require.NoError(t, err)
	return s
}

// This test checks that what is surveyed, pushed, broadcast, published and
// tunnelled is in the history, with what came of it on the other side, and
// that no checker objects.
func TestEveryPatternIsInTheHistory(t *testing.T) {
	h, _ := run(t, everythingExpanded(t), play.Options{})
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

// This test checks that all of them replay.
func TestPlayingEveryPatternTwiceIsTheSameRun(t *testing.T) {
	first, a := run(t, everythingExpanded(t), play.Options{})
	second, b := run(t, everythingExpanded(t), play.Options{})
	require.Equal(t, a.Hash, b.Hash)
	require.Equal(t, first, second)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/scenarios"
	"github.com/arke-mesh/arke/sim/stack"
)

// played plays a scenario, expanded for a seed, in a bubble.
func played(t *testing.T, s scenario.Scenario, seed uint64) (h *history.History) {
	t.Helper()
	s.Seed = seed
	s, err := s.Expand()
	require.NoError(t, err)
	bubble(t, func(t *testing.T) {
		l, err := stack.New(stack.Config{Seed: seed})
		require.NoError(t, err)
		h, err = play.Play(context.Background(), l, s, play.Options{})
		require.NoError(t, err)
	})
	return h
}

// schedule is what was done to whom, and when.
func schedule(h *history.History) []string {
	var lines []string
	for _, f := range h.Faults {
		lines = append(lines, fmt.Sprint(f.At-h.Start, " ", f.Do, " ", f.Nodes, f.Between))
	}
	return lines
}

// small is a network to which everything happens that can happen here.
const small = `
name: small
duration: 20s
nodes:
  - {name: m, count: 4}
  - {name: c, count: 2}
clusters:
  - {name: geo, members: m, handler: {kind: slow, work: 2ms, jitter: 4ms}}
links:
  - {between: [c, m], latency: 10ms, jitter: 5ms, loss: 0.5%, mbps: 50}
workload:
  - {from: c, to: geo, rate: 50, idempotent: true}
timeline:
  - {at: 1s, do: churn, nodes: m, share: 100%, for: 12s, down: 1s}
  - {at: 2s, do: pause, nodes: c1, for: 2s}
  - {at: 3s, do: skew, nodes: c2, offset: 1h, drift: 200}
  - {at: 5s, do: swizzle, between: [c, m], every: 200ms, for: 1s}
  - {at: 9s, do: clog, between: [c1, m], for: 1s}
  - {at: 10s, do: corrupt, between: [c1, m2]}
  - {at: 11s, do: degrade, between: [c, m], link: {latency: 40ms, mbps: 5}, for: 3s}
  - {at: 15s, do: silence, nodes: m1, for: 2s}
`

func TestTheScheduleRepeats(t *testing.T) {
	// This test plays one scenario three times: with the same seed the same is
	// done to the same nodes at the same times, with another one it is not.
	// What follows from it need not repeat, but no checker may object.
	s, err := scenario.Parse("small.yaml", []byte(small))
	require.NoError(t, err)
	first, again, other := played(t, s, 1), played(t, s, 1), played(t, s, 2)
	require.NotEmpty(t, schedule(first))
	require.Equal(t, schedule(first), schedule(again))
	require.NotEqual(t, schedule(first), schedule(other))
	for i := range first.Nodes {
		require.Equal(t, first.Nodes[i].Peer, again.Nodes[i].Peer)
	}
	for _, h := range []*history.History{first, again, other} {
		v := check.Judge(h, check.LevelRules("stack"))
		require.Empty(t, v.Violations)
		require.Greater(t, len(h.Requests), 500)
	}
}

func TestShippedScenarios(t *testing.T) {
	// This test plays a shipped scenario, named in ARKE_STACK_SCENARIO, and
	// checks what it asserts. CI has the runner do that.
	name := os.Getenv("ARKE_STACK_SCENARIO")
	if name == "" {
		t.Skip("ARKE_STACK_SCENARIO is not set")
	}
	s, err := scenarios.Load(name)
	require.NoError(t, err)
	begun := time.Now()
	h := played(t, s, 1)
	t.Log("virtual", h.End, "real", time.Since(begun), "requests", len(h.Requests))
	rules := check.LevelRules("stack")
	for _, a := range s.Assert {
		rules.Assert = append(rules.Assert, string(a))
	}
	for _, a := range s.Sometimes {
		rules.Sometimes = append(rules.Sometimes, string(a))
	}
	v := check.Judge(h, rules)
	for _, a := range v.Assertions {
		t.Log(a.OK, a.Kind, a.Text, a.Value)
	}
	for _, x := range v.Violations {
		t.Log(x)
	}
	require.True(t, v.OK)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/scenario"
)

// shrink goes on with the first smaller scenario that still fails.
func shrink(t *testing.T, s scenario.Scenario, fails func(scenario.Scenario) bool) (scenario.Scenario, int) {
	t.Helper()
	runs := 0
	for {
		i := slices.IndexFunc(scenario.Smaller(s), func(c scenario.Scenario) bool {
			runs++
			return fails(c)
		})
		if i < 0 {
			return s, runs
		}
		s = scenario.Smaller(s)[i]
		require.Less(t, runs, 2000)
	}
}

func TestShrinkingFindsTheTwoFaultsThatMatter(t *testing.T) {
	// Of many faults, nodes and works, only a crash of m2 while c1 is cut off
	// fails: that is what is left in the end, with what undoes it.
	s := expand(t, base+`timeline:
  - {at: 2s, do: churn, nodes: [m4, m5], share: 100%, for: 40s}
  - {at: 5s, do: pause, nodes: [m1, m3], for: 1s}
  - {at: 9s, do: crash, nodes: m2, for: 5s}
  - {at: 10s, do: cut, between: [c1, m2], for: 2s}
  - {at: 20s, do: swizzle, between: [m, c]}
  - {at: 40s, do: heal}
  - {at: 41s, do: flood, work: {from: c2, to: geo, rate: 50}, for: 5s}
`)
	small, runs := shrink(t, s, func(s scenario.Scenario) bool {
		var crash, cut bool
		for _, a := range s.Timeline {
			crash = crash || a.Do == "crash" && a.Nodes[0] == "m2"
			cut = cut || a.Do == "cut" && slices.Contains(a.Between[0], "c1")
		}
		return crash && cut && len(s.Workload) > 0
	})
	require.LessOrEqual(t, runs, 500)
	require.Equal(t, []string{"1s crash m2", "2s cut c1>m2"}, lines(small))
	require.Len(t, scenario.NewIndex(small).Names(), 3)
	require.Equal(t, []string{"c1"}, small.Workload[0].From)
	require.Equal(t, 1.0, small.Workload[0].Rate)
	require.Len(t, small.Links, 1)
	require.Less(t, small.Duration, s.Duration/4)
}

func TestEveryCandidateIsSmallerAndValid(t *testing.T) {
	// No candidate equals what it was made from, so that shrinking ends; each is
	// expanded already.
	for seed := uint64(1); seed <= 30; seed++ {
		s := expanded(t, drawn(t, seed, scenario.Ranges{}))
		for _, c := range scenario.Smaller(s) {
			require.NotEqual(t, text(t, s), text(t, c))
			require.Equal(t, text(t, c), text(t, expanded(t, c)))
		}
	}
}

func TestAnActionIsNeverLeftWithoutWhatUndoesIt(t *testing.T) {
	// The restart goes with its crash: no candidate restarts a node that runs
	// (which would be refused), and some have only one of the two crashes.
	s := expand(t, base+`timeline:
  - {at: 5s, do: crash, nodes: m1, for: 5s}
  - {at: 7s, do: crash, nodes: m2, for: 5s}
`)
	var seen [][]string
	for _, c := range scenario.Smaller(s) {
		seen = append(seen, lines(c))
	}
	require.Contains(t, seen, []string{"5s crash m1", "10s restart m1"})
	require.Contains(t, seen, []string{"7s crash m2", "12s restart m2"})
	require.Contains(t, seen, []string(nil))
}

func TestClaimsAboutAWorkGoWithTheWork(t *testing.T) {
	// A scenario without the work would not be valid with them.
	s := expand(t, base+"assert: ['lost{request} == 0', 'lost == 0']\n")
	found := false
	for _, c := range scenario.Smaller(s) {
		if len(c.Workload) == 0 {
			found = true
			require.Equal(t, []scenario.Assertion{"lost == 0"}, c.Assert)
		}
	}
	require.True(t, found)
}

func text(t *testing.T, s scenario.Scenario) string {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return string(data)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/sim/scenario"
)

// drawn is a scenario that a seed draws.
func drawn(t *testing.T, seed uint64, r scenario.Ranges) scenario.Scenario {
	t.Helper()
	s, err := scenario.Generate(seed, r)
	require.NoError(t, err, "seed %d", seed)
	return s
}

func TestSeedsGenerateDifferentScenariosWithinTheRanges(t *testing.T) {
	// Whatever the seed, the result is valid and within the ranges, the same
	// seed gives the same one, and together the seeds reach every kind of
	// primitive fault.
	ranges := scenario.Ranges{
		Members:  scenario.Counts{Min: 2, Max: 4},
		Duration: scenario.Durations{Min: scenario.Duration(10 * time.Second), Max: scenario.Duration(15 * time.Second)},
		Rate:     scenario.Counts{Min: 10, Max: 20},
		Calm:     scenario.Duration(time.Second),
	}
	reached := map[string]int{}
	for seed := uint64(1); seed <= 300; seed++ {
		s := drawn(t, seed, ranges)
		require.Equal(t, s, drawn(t, seed, ranges))

		x := expanded(t, s)
		require.Nil(t, x.Generate)
		require.GreaterOrEqual(t, len(x.Clusters[0].Members), 2)
		require.LessOrEqual(t, len(x.Clusters[0].Members), 4)
		require.GreaterOrEqual(t, x.Duration, ranges.Duration.Min)
		require.LessOrEqual(t, x.Duration, ranges.Duration.Max)
		require.Len(t, x.Workload, 2)
		for _, w := range x.Workload {
			require.GreaterOrEqual(t, w.Rate, 10.0)
			require.LessOrEqual(t, w.Rate, 20.0)
		}
		kinds := map[string]bool{}
		for _, a := range x.Timeline {
			require.GreaterOrEqual(t, a.At, ranges.Calm)
			require.LessOrEqual(t, a.At, x.Duration-ranges.Calm)
			kinds[a.Do] = true
		}
		for kind := range kinds {
			reached[kind]++
		}
	}
	for _, kind := range []string{
		"crash", "silence", "stop", "restart", "pause", "resume", "slow", "cut", "mend", "clog", "unclog", "degrade", "skew",
		"router", "corrupt", "flood",
	} {
		require.Greater(t, reached[kind], 10, kind)
		require.Less(t, reached[kind], 290, "%s: a swarm leaves things out", kind)
	}
}

func TestSeedsAttachClientsAndTakeTheirRelaysAway(t *testing.T) {
	// With clients the result is valid too, and together the seeds crash relays
	// and clients, bring both back, and cut the power of a relay with its clients,
	// but never of a client alone.
	ranges := scenario.Ranges{Clients: scenario.Counts{Min: 2, Max: 6}, Faults: []string{"crash", "silence", "stop", "pause", "partition"}}
	reached := map[string]int{}
	for seed := uint64(1); seed <= 200; seed++ {
		x := expanded(t, drawn(t, seed, ranges))
		index := scenario.NewIndex(x)
		clients := 0
		for _, name := range index.Names() {
			if index.Relay(name) != "" {
				clients++
			}
		}
		require.GreaterOrEqual(t, clients, 2)
		require.LessOrEqual(t, clients, 6)
		for _, a := range x.Timeline {
			for _, name := range a.Nodes {
				switch {
				case index.Relay(name) != "":
					reached["client "+a.Do]++
				case len(index.Clients(name)) > 0:
					reached["relay "+a.Do]++
				}
			}
		}
	}
	for _, what := range []string{
		"client crash", "client stop", "client pause", "client restart", "relay crash", "relay stop", "relay silence", "relay restart",
	} {
		require.Greater(t, reached[what], 5, what)
	}
}

func TestOneMemberAlwaysStays(t *testing.T) {
	// Generated faults of nodes never take every member away at once: there
	// would be nothing left to demand.
	for seed := uint64(1); seed <= 200; seed++ {
		x := expanded(t, drawn(t, seed, scenario.Ranges{
			Members: scenario.Counts{Min: 2, Max: 2}, Faults: []string{"crash", "pause", "stop"}, Strikes: scenario.Counts{Min: 8, Max: 8},
		}))
		away := map[string]bool{}
		for _, a := range x.Timeline {
			for _, name := range a.Nodes {
				away[name] = a.Do != "restart" && a.Do != "resume"
			}
			there := 0
			for _, m := range x.Clusters[0].Members {
				if !away[m] {
					there++
				}
			}
			require.Positive(t, there, "seed %d at %v", seed, a.At)
		}
	}
}

func TestWhatAFileHasIsNotDrawn(t *testing.T) {
	// generate: fills in what is left out, and nothing else.
	s := expand(t, base+"generate: {faults: [crash], strikes: 1..1}\n")
	require.Len(t, s.Nodes, 3)
	require.Len(t, s.Workload, 1)
	require.Len(t, s.Links, 2)
	require.NotEmpty(t, s.Timeline)
	require.Equal(t, "crash", s.Timeline[0].Do)

	s = expand(t, "name: a\ngenerate: {members: 3}\ntimeline: [{at: 1s, do: heal}]\n")
	require.Equal(t, []string{"1s heal"}, lines(s))
	require.Len(t, s.Clusters[0].Members, 3)
}

func TestImpossibleRangesAreRefused(t *testing.T) {
	// What can't be about generate.
	for _, tc := range []struct{ ranges, want string }{
		{"{members: 8..3}", `generate.members: "8..3" ends before it begins`},
		{"{members: 0..3}", "generate.members: 0..3 is not within 1..10000"},
		{"{members: few}", `generate.members: "few" is not a range of numbers; write it like 3..8`},
		{"{lasting: 1s..0s}", `generate.lasting: "1s..0s" ends before it begins`},
		{"{lasting: -1s..0s}", `generate.lasting: "-1s..0s" is not between 0 and 24h`},
		{"{lasting: 5}", `generate.lasting: "5" is not a duration; write it like 10s, 1.5s, 400ms or 2m`},
		{"{loss: 5}", `generate.loss: "5" is not a share; write it like 5% or 0.1%`},
		{"{size: 1B..2B}", "generate.size: 1B..2B is not within 8B..1MiB"},
		{"{duration: 1ms..2s}", "generate.duration: 1ms is less than 1s"},
		{"{faults: [crash, creash]}", `generate.faults[1]: unknown kind of fault "creash"; did you mean crash?`},
		{"{strike: 1}", `generate: unknown field "strike"; did you mean strikes?`},
	} {
		_, err := scenario.Parse("f.yaml", []byte("name: a\ngenerate: "+tc.ranges+"\n"))
		require.EqualError(t, err, "f.yaml:2: "+tc.want, tc.ranges)
	}
}

func TestRangesSurviveYAMLAndJSON(t *testing.T) {
	// What is written is read again; zero ranges are left out.
	s := parse(t, "name: a\ngenerate: {members: 3..4, lasting: 1s..2s, loss: 0%..1.5%, size: 1KiB, faults: crash}\n")
	require.Equal(t, scenario.Sizes{Min: 1024, Max: 1024}, s.Generate.Size)

	asYAML, err := yaml.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(asYAML), "callers")
	require.Equal(t, s, parse(t, string(asYAML)))

	asJSON, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(asJSON), "callers")
	var again scenario.Scenario
	require.NoError(t, json.Unmarshal(asJSON, &again))
	require.Equal(t, s, again)
}

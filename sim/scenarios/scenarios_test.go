// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/scenarios"
)

func TestEveryShippedScenarioSaysWhatItIsAboutAndProvesIt(t *testing.T) {
	// Each file is valid, is called like itself, says in a sentence what it is
	// about, and has both kinds of claims.
	require.GreaterOrEqual(t, len(scenarios.Names()), 12)
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		require.True(t, strings.HasSuffix(s.About, "."), name)
		require.NotEmpty(t, s.Assert, name)
		require.NotEmpty(t, s.Sometimes, name)
		require.Contains(t, s.Assert, scenario.Assertion("duplicated == 0"), name)
		if len(s.Clusters) > 0 || s.Generate != nil {
			require.Contains(t, s.Assert, scenario.Assertion("members_lost_for_good == 0"), name)
		}
		if len(s.Subscriptions) > 0 {
			require.Contains(t, s.Assert, scenario.Assertion("unreported == 0"), name)
		}
	}
}

func TestEveryShippedScenarioExpandsForManySeeds(t *testing.T) {
	// Expansion never fails for a seed, and keeps to the size and length that
	// let twenty seeds run in minutes.
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		require.NoError(t, err)
		for seed := uint64(1); seed <= 50; seed++ {
			s.Seed = seed
			x, err := s.Expand()
			require.NoError(t, err, "%s, seed %d", name, seed)
			nodes := len(scenario.NewIndex(x).Names())
			switch name {
			case "churn":
				require.Equal(t, 1000, nodes)
			case "federation-churn":
				require.Equal(t, 306, nodes)
			case "mass-start":
				require.Equal(t, 300, nodes)
			case "sharded-cluster":
				require.Equal(t, 747, nodes)
			case "thousand-subscribers":
				require.Equal(t, 1001, nodes)
			default:
				require.GreaterOrEqual(t, nodes, 7, name)
				require.LessOrEqual(t, nodes, 60, name)
			}
			switch name {
			case "epoch-turn", "one-anchor", "two-halves": // little happens in them
			default:
				require.LessOrEqual(t, x.Duration.D(), 50*time.Second, name)
			}
		}
	}
}

func TestTheScenariosOfThePromisesAreThere(t *testing.T) {
	// What Arke promises is tried by a scenario of that name, with the bar in
	// it.
	for name, bars := range map[string][]scenario.Assertion{
		"member-crash":      {"lost{idem} == 0", "duplicated == 0", "reroute_p99 < 100ms"},
		"silent-death":      {"detection_p99 < 1.5s"},
		"rolling-restart":   {"lost == 0"},
		"partition-heal":    {"convergence_last < 5s"},
		"one-way-partition": {"convergence_last < 5s"},
		"false-suspicion":   {"members_lost_for_good == 0"},
		"churn":             {"success >= 99.99%", "control_bytes_per_node_s < 2KB"},
		"anchor-loss":       {"lost == 0"},
		"mass-restart":      {"lost{after} == 0"},
		"slow-member":       {"lost == 0"},
		"key-mismatch":      {"replies{outsiders} == 0", "replies{strangers} == 0"},
		"clock-skew":        {"deadline == 0"},

		"lossy-1":    {"delivered == 100%", "completeness == 100%", "unreported == 0", "partial == 0"},
		"lossy-5":    {"delivered == 100%", "completeness == 100%", "unreported == 0", "partial == 0"},
		"lossy-20":   {"delivered == 100%", "completeness == 100%", "unreported == 0", "partial == 0"},
		"many-crash": {"delivered{close} == 100%", "completeness == 100%", "unreported == 0"},
		"thousand-subscribers": {
			"tree_depth <= 3", "publisher_copies <= 17", "publisher_bytes < 70KiB", "egress < 24", "unreported == 0", "delivered > 99%",
		},
		"root-subscribers":  {"delivered{own} == 100%"},
		"topic-queues":      {"queue_balance < 1.5"},
		"slow-subscriber":   {"delivered{fast} == 100%"},
		"push-rolling":      {"lost{given} == 0"},
		"rolling-patterns":  {"lost{given} == 0", "completeness == 100%", "tunnels_broken == 0", "unreported == 0", "publish_failed == 0"},
		"tunnels-lossy":     {"tunnels_broken == 0", "tunnels_refused == 0"},
		"overload":          {"goodput_min{slightly} >= 90%", "goodput_min{twice} >= 90%", "goodput_min{tenfold} >= 90%", "lost{after} == 0", "goodput_min{storm} >= 90%", "lost{calm} == 0"},
		"overload-attached": {"goodput_min{twice} >= 90%", "goodput_min{tenfold} >= 90%", "lost{after} == 0", "goodput_min{storm} >= 90%", "lost{calm} == 0"},
		"overload-patterns": {"goodput_min{push} >= 90%", "goodput_min{survey} >= 90%", "goodput_min{told} >= 90%"},
		"overload-tunnels":  {"tunnels_done{far} >= 188", "tunnels_done{near} >= 188", "tunnels_broken == 0"},
		"overload-shared":   {"goodput_min{slightly} >= 90%", "goodput_min{twice} >= 90%", "goodput_min{tenfold} >= 90%", "goodput_min{storm} >= 90%", "lost{calm} == 0"},
		"topic-partition":   {"delivered{here} == 100%", "reported{moment} == 0", "unreported == 0"},
		"everybody-talks":   {"tree_depth <= 2", "unreported == 0"},

		"federation-spill-over":    {"lost{died} == 0", "lost{flaps} == 0", "handled{bounded} <= 440", "border_turns{died} == 2", "border_turns{flaps} <= 2", "return_max{died} < 5s"},
		"federation-gateway-loss":  {"lost{idem} == 0", "severed_max{pipe} < 500ms"},
		"federation-cut-off":       {"lost{us} == 0", "crossed{us} == 0", "lost{after} == 0", "no_members == 0", "deadline{far} <= 40"},
		"federation-lying-gateway": {"lost{us} == 0", "lost{eu} == 0", "wrong_reply{once} == 0", "lost{honest} == 0"},
		"federation-wrong-clock":   {"lost{idem} == 0", "no_members == 0", "late_max < 10ms"},
		"federation-ring":          {"lost{far} == 0", "lost{around} == 0", "crossed{own} == 0", "gateways_max{calmly} == 4", "borders_max{calm} == 2", "duplicated == 0"},
		"federation-topics":        {"unreported == 0", "delivered{near} == 100%", "duplicated == 0"},
		"federation-churn":         {"success{eu} >= 99.9%", "success{atlas} >= 99.9%"},
	} {
		s, err := scenarios.Load(name)
		require.NoError(t, err)
		require.Subset(t, s.Assert, bars, name)
	}
}

func TestAnUnknownScenarioIsAnErrorThatNamesTheOthers(t *testing.T) {
	// Whoever mistypes learns what there is.
	_, err := scenarios.Load("member-crush")
	require.ErrorContains(t, err, `no scenario is called "member-crush"; there is anchor-loss, `)
}

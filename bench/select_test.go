// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/bench/driver"
	"github.com/arke-mesh/arke/bench/report"
	"github.com/arke-mesh/arke/bench/system"
)

// labels are the systems of a choice by workload.
func labels(t *testing.T, c choice, trees ...string) map[string][]string {
	t.Helper()
	builds := map[string]driver.Build{"": {}}
	for _, tree := range trees {
		builds[tree] = driver.Build{}
	}
	jobs, err := c.jobs(builds)
	require.NoError(t, err)
	all := map[string][]string{}
	for _, j := range jobs {
		for _, e := range j.Among {
			all[j.Work.Name] = append(all[j.Work.Name], e.Label)
		}
	}
	return all
}

func TestTheUsualChoiceIsWhatBarsCompare(t *testing.T) {
	// This test checks that each bar has both of its systems in what is run
	// without further words, but for those that are not installed.
	got := labels(t, choice{})
	for _, b := range report.Bars() {
		for _, pair := range [][2]string{{b.System, b.Workload}, {b.Reference, b.Against}} {
			s, err := system.Find(pair[0])
			require.NoError(t, err)
			if s.Missing == nil || s.Missing() == nil {
				require.Contains(t, got[pair[1]], pair[0])
			}
		}
	}
	require.NotContains(t, got, "open-1m")
	require.NotContains(t, got["1to1-1k"], "mangos")
}

func TestAChoiceOfSystemsAndWork(t *testing.T) {
	// This test checks lists of names, with stars, and another tree of Arke.
	require.Equal(t, map[string][]string{"1to4": {"arke", "mangos"}, "1to16": {"arke", "mangos"}},
		labels(t, choice{systems: "arke,mangos", work: "1to4,1to16"}))
	require.Equal(t, map[string][]string{"1to1-1k": {"arke", "arke@old", "tcp", "tls"}},
		labels(t, choice{systems: "arke,tcp,tls", work: "1to1-1k"}, "old"))
	require.Contains(t, labels(t, choice{full: true})["1to1-1k"], "mangos")
	_, err := choice{systems: "tcp", work: "tunnels-10k"}.jobs(map[string]driver.Build{"": {}})
	require.Error(t, err)
}

func TestNamesMatchLists(t *testing.T) {
	// This test checks how arguments name systems.
	for _, c := range []struct {
		list, name string
		want       bool
	}{
		{"", "arke", true},
		{"arke", "arke", true},
		{"arke", "arke-relay", false},
		{"arke*", "arke-relay", true},
		{"nats,arke-*", "arke-relay", true},
		{"nats,arke-*", "arke", false},
		{"nats-2", "nats", false},
	} {
		require.Equal(t, c.want, matches(c.list, c.name), "%q %q", c.list, c.name)
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// simLadder is ordered from the lowest rung to the highest: each is one package of sim,
// and those of sim that it may import.
func simLadder() []layer {
	return []layer{
		{"sim/link", nil, "what a link does is arithmetic, the same at every level"},
		{"sim", []string{"sim/link"}, "the network knows nothing of scenarios: it is a library for tests, too"},
		{"sim/history", nil, "what happened is plain data"},
		{"sim/check", []string{"sim/history"}, "judges see what happened and not how it was made to"},
		{"sim/scenario", []string{"sim/check", "sim/link"}, "a format: it knows metrics and link models, and nothing that runs"},
		{"sim/scenarios", []string{"sim/scenario"}, "files"},
		{"sim/play", []string{"sim/scenario", "sim/history", "sim/link"}, "the player does not know which level it plays on"},
		{"sim/internal/adversary", []string{"sim/scenario"}, "it stands before any seam; the format names what it can do"},
		{"sim/world", []string{"sim", "sim/internal/adversary", "sim/play", "sim/scenario", "sim/link", "sim/check", "sim/history"}, "a level, and the library for tests: its Play judges what happened"},
		{"sim/internal/stack", []string{"sim/play", "sim/scenario", "sim/link"}, "a level, without the simulated network"},
		{"sim/internal/netns", []string{"sim/play", "sim/scenario", "sim/link"}, "a level, without the simulated network"},
		{"sim/report", []string{"sim/check", "sim/history", "sim/scenario"}, "a report is made of data; it runs nothing"},
		{"sim/runner", []string{"sim", "sim/check", "sim/history", "sim/scenario", "sim/play", "sim/report", "sim/world", "sim/internal/stack", "sim/internal/netns"}, "it brings all of it together, and is the only one that does"},
		{"sim/mutation", []string{"sim/check", "sim/report", "sim/scenarios"}, "it runs the program from outside"},
	}
}

// TestSimIsALadder checks that the packages of the simulator stand one above
// the other, and that each has its rung.
func TestSimIsALadder(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !within(path, "sim") {
			continue
		}
		i := slices.IndexFunc(simLadder(), func(r layer) bool {
			return path == r.folder || r.folder != "sim" && within(path, r.folder)
		})
		require.GreaterOrEqual(t, i, 0, "%s has no rung: add it to the ladder, with a reason", path)
		rung := simLadder()[i]
		for _, imported := range p.Imports {
			target, ours := strings.CutPrefix(imported, module)
			if !ours || !within(target, "sim") || rung.folder != "sim" && within(target, rung.folder) {
				continue
			}
			allowed := slices.ContainsFunc(rung.may, func(m string) bool {
				return target == m || m != "sim" && within(target, m)
			})
			require.True(t, allowed, "%s imports %s: %s", path, target, rung.reason)
		}
	}
}

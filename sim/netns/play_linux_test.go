// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/tests/harness"
)

// small is a scenario as users write them.
const small = `
name: small
duration: 4s
settle: 3s
nodes:
  - {name: m, count: 2}
  - {name: c}
clusters:
  - {name: geo, members: m, handler: {kind: echo}}
workload:
  - {name: idem, from: c, to: geo, rate: 50, idempotent: true}
timeline:
  - {at: 1s, do: crash, nodes: m1, for: 1s}
`

// TestAScenarioPlays checks a whole run: a member is killed under load and
// comes back, and the checkers that judge every level find nothing.
func TestAScenarioPlays(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays in real time")
	}
	needs(t)
	s, err := scenario.Parse("small.yaml", []byte(small))
	require.NoError(t, err)
	s, err = s.Expand()
	require.NoError(t, err)
	n, err := New(Config{Seed: s.Seed, Binary: harness.Binary(t)})
	require.NoError(t, err)
	h, err := play.Play(t.Context(), n, s, play.Options{})
	require.NoError(t, err)
	verdict := check.Judge(h, check.LevelRules("net"))
	require.Empty(t, verdict.Violations)
	require.Greater(t, len(h.Requests), 150)
	require.Len(t, h.Nodes, 4, "three nodes, one of them twice")
	t.Logf("%+v", n.Stats())
}

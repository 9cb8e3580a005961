// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/scenario"
)

// update rewrites the golden files: go test -run Explain -update.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestExplainSaysInWordsAndBarsWhatHappens(t *testing.T) {
	// Each file of testdata and what is said about it.
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var got strings.Builder
		require.NoError(t, parse(t, string(data)).Explain(&got))
		golden := strings.TrimSuffix(path, ".yaml") + ".golden"
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got.String(), path)
	}
}

func TestExplainingTheExpandedFormSaysTheSame(t *testing.T) {
	// It makes no difference whether a scenario was expanded before.
	s := parse(t, base+"timeline:\n  - {at: 5s, do: churn, nodes: m, share: 100%, for: 20s, down: 2s}\n")
	x, err := s.Expand()
	require.NoError(t, err)
	var one, other strings.Builder
	require.NoError(t, s.Explain(&one))
	require.NoError(t, x.Explain(&other))
	require.Equal(t, one.String(), other.String())
}

func TestExplainReportsWhatCanNotBeExpandedOrWritten(t *testing.T) {
	// Its errors are those of Expand and of the writer.
	var all *scenario.Error
	require.ErrorAs(t, scenario.Scenario{}.Explain(&strings.Builder{}), &all)
	require.ErrorIs(t, parse(t, base).Explain(broken{}), errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTheReferenceNamesEveryActionFieldAndMetric(t *testing.T) {
	// Nothing that a file may contain is undocumented, and the example in it is
	// a valid file.
	var b strings.Builder
	require.NoError(t, scenario.WriteReference(&b))
	for _, a := range scenario.Actions() {
		require.Contains(t, b.String(), "| `"+a.Name+"` |")
	}
	for _, m := range check.Metrics() {
		require.Contains(t, b.String(), "| `"+m.Name+"` |")
	}
	for _, k := range scenario.FaultKinds() {
		require.Contains(t, b.String(), "`"+k+"`")
	}
	for _, field := range scenario.Fields() {
		require.Contains(t, b.String(), field)
	}
	_, rest, _ := strings.Cut(b.String(), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	parse(t, example)
}

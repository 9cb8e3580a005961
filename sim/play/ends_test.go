// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// This test checks that what undoes a degradation or a skew is recorded as its
// end, not as a fault of its own, although it comes link by link.
func TestWhatUndoesAFaultEndsIt(t *testing.T) {
	s, err := scenario.Parse("ends.yaml", []byte(`
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
	require.NoError(t, err)
	s, err = s.Expand()
	require.NoError(t, err)
	h, _ := run(t, s, play.Options{})
	require.Len(t, h.Faults, 2)
	for i, want := range []time.Duration{time.Second, 2 * time.Second} {
		f := h.Faults[i]
		require.Equal(t, []string{"degrade", "skew"}[i], f.Do)
		require.InDelta(t, want, f.Until-f.At, float64(time.Millisecond))
	}
}

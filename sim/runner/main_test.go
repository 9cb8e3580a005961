// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

func TestMain(m *testing.M) {
	// This binary is its own child, as the program is.
	if len(os.Args) == 3 && os.Args[1] == "sim" && os.Args[2] == "child" {
		os.Exit(runner.ChildMain(context.Background(), os.Stdin))
	}
	goleak.VerifyTestMain(m)
}

// small is a scenario that runs in a moment and fails: a crash loses requests.
const small = `
name: small
duration: 2s
settle: 3s
nodes:
  - {name: m, count: 3}
  - {name: c}
clusters:
  - {name: echo, members: [m], handler: {kind: slow, work: 20ms}}
workload:
  - {kind: request, from: [c], to: echo, rate: 200}
timeline:
  - {at: 500ms, do: pause, nodes: [m1], for: 100ms}
  - {at: 1s, do: crash, nodes: [m2]}
assert:
  - lost == 0
sometimes:
  - crashes == 1
`

func parsed(t testing.TB, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

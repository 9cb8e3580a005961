// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestDemoTellsItsStory(t *testing.T) {
	// This test checks that the demo runs to its end with every reply right,
	// none lost, and a share for each member.
	alone(t)
	report := object(t, harness.Run(t, "demo", "--duration", "1s", "--requests", "5000", "--json"))
	require.True(t, report["wrong"] == 0.0 && report["lost"] == 0.0, report)
	require.True(t, report["requests"].(float64) >= 5000 && report["zones"].(float64) > 500, report)
	require.Len(t, report["members"], 3)
	require.True(t, report["return_to_serving_ms"].(float64) > 0, report)
}

func TestTwoNetworksLendEachOtherAService(t *testing.T) {
	// This test runs the demo of federation, with real relays and gateways: nothing is
	// lost while a service is killed and comes back and a gateway is killed, and each
	// phase is served where it should be.
	alone(t)
	report := object(t, harness.Run(t, "demo", "federation", "--phase", "1500ms", "--json"))
	require.True(t, report["lost"] == 0.0, report)
	phases := report["phases"].([]any)
	require.Len(t, phases, 5)
	served := func(phase int, network string) float64 {
		n, _ := phases[phase].(map[string]any)["served"].(map[string]any)[network].(float64)
		return n
	}
	require.True(t, served(0, "eu") > 0 && served(0, "us") == 0, report)
	require.True(t, served(1, "us") > 0, report)
	require.True(t, served(2, "eu") > 0, report)
	require.True(t, served(3, "us") > 0, report)
	require.True(t, served(4, "eu") > 0 && served(4, "us") == 0, report)
	require.True(t, report["spilled_ns"].(float64) < 2e9 && report["returned_ns"].(float64) > 0, report)
}

func TestBenchMeasuresEveryPattern(t *testing.T) {
	// This test checks that each measurement does what it was told to, and that
	// its books balance: nothing is lost without a word.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	b.Serves("echo", "--echo", "--tunnel-echo")
	b.Serves("echo", "--echo", "--tunnel-echo")
	a.Sees(2, "echo")
	measured := func(args ...string) map[string]any {
		t.Helper()
		return object(t, a.Does("bench", append(args, "--duration", "500ms", "--json")...).Ends(0))
	}
	surveys := measured("survey", "echo", "--rate", "50")
	require.True(t, surveys["sent"] == 25.0 && surveys["ok"] == 25.0, surveys)
	for _, share := range surveys["members"].(map[string]any) {
		require.True(t, share == 1.0, surveys)
	}
	require.Len(t, surveys["members"], 2)

	messages := measured("tunnel", "echo", "--rate", "400", "--tunnels", "3", "--size", "2000")
	require.True(t, messages["sent"] == 200.0 && messages["ok"] == 200.0 && messages["p50"].(float64) > 0, messages)

	published := measured("publish", "load.test", "--rate", "200", "--publishers", "2", "--subscribers", "3", "--subscriber-socket", b.Socket())
	require.True(t, published["sent"] == 100.0 && published["ok"] == 100.0, published)
	delivery := published["delivery"].(map[string]any)
	require.True(t, delivery["expected"] == 300.0 && delivery["delivered"] == 300.0 && delivery["untold"] == 0.0, delivery)

	status := a.Does("status").Ends(0).Stdout
	require.Contains(t, status, "100 copies sent")
	require.Contains(t, status, "0 opened here")
	require.Contains(t, b.Does("status").Ends(0).Stdout, "100 received")

	a.Does("bench", "survey", "nobody", "--rate", "10", "--duration", "200ms").Ends(3).Says("no survey of nobody was complete")
	a.Does("bench", "tunnel", "nobody", "--rate", "10", "--duration", "200ms").Ends(3).Says("nobody serves nobody")
}

// fragile loses requests: they may not be repeated, and a member is killed.
const fragile = `
name: fragile
duration: 3s
settle: 3s
nodes: [{name: m, count: 3}, {name: by, count: 3}, {name: c}]
clusters: [{name: echo, members: [m], handler: {kind: slow, work: 20ms}}]
workload: [{kind: request, from: [c], to: echo, rate: 300}]
timeline:
  - {at: 500ms, do: pause, nodes: [by1], for: 200ms}
  - {at: 1s, do: crash, nodes: [m2], for: 1s}
assert: [lost == 0]
sometimes: [crashes == 1]
`

func TestSimulationReplays(t *testing.T) {
	// This test checks the simulator from outside: a scenario that comes with
	// the program, a cheap one, holds and gives the same run twice; one that fails leaves a
	// file that replays event by event, and shrinks to what it needs.
	scenario(t)
	first := object(t, harness.Run(t, "sim", "run", "lonely-member", "--json").Ends(0))
	second := object(t, harness.Run(t, "sim", "run", "lonely-member", "--json", "--twice").Ends(0))
	require.NotEmpty(t, first["trace_hash"])
	require.Equal(t, first["trace_hash"], second["trace_hash"])
	concludes(t, harness.Run(t, "sim", "diff", "lonely-member@1", "lonely-member@2").Ends(13), "differ")

	dir := harness.Folder(t)
	file := filepath.Join(dir, "fragile.yaml")
	write(t, file, fragile)
	failed := object(t, concludes(t, harness.Run(t, "sim", "run", file, "--json", "--out", dir).Ends(10), "1 run failed"))
	require.True(t, failed["ok"] == false, failed)
	run := filepath.Join(dir, "fragile-sim-1")
	exists(t, filepath.Join(run, "report.html"))
	found, err := filepath.Glob(filepath.Join(run, "fail-*.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	concludes(t, harness.Run(t, "sim", "replay", found[0]).Ends(10), "the same failure, and the run is the same, event by event")
	harness.Run(t, "sim", "diff", found[0], run).Ends(0)

	small := harness.Run(t, "sim", "shrink", found[0]).Ends(0).Stdout
	require.Contains(t, small, "became")
	require.Contains(t, small, "1 action")
	found, err = filepath.Glob(filepath.Join(run, "fail-*.json"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, f := range found {
		concludes(t, harness.Run(t, "sim", "replay", f).Ends(10), "event by event")
	}
}

// concludes checks the last line of explanation. On a busy machine lines of
// progress come before it.
func concludes(t *testing.T, r harness.Result, text string) harness.Result {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
	last := lines[len(lines)-1]
	require.True(t, strings.HasPrefix(last, "arke: ") && strings.Contains(last, text), "%s: want %q at the end of standard error", r, text)
	return r
}

func TestSimulationEndsWithASignal(t *testing.T) {
	// This test checks that a run under way ends soon after a signal, and
	// leaves no process behind: the child goes with its parent.
	scenario(t)
	file := filepath.Join(harness.Folder(t), "long.yaml")
	long := strings.Replace(strings.Replace(fragile, "duration: 3s", "duration: 55m", 1), "rate: 300", "rate: 3000", 1)
	write(t, file, long)
	p := harness.Command{Args: []string{"sim", "run", file}}.Start(t, "")
	p.Tells("times real time")
	p.Terminate().Ends(1)
}

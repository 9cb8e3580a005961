// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"strings"
	"testing"

	"github.com/arke-mesh/arke/tests/harness"
)

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
	require(t, surveys["sent"] == 25.0 && surveys["ok"] == 25.0, surveys)
	for _, share := range surveys["members"].(map[string]any) {
		require(t, share == 1.0, surveys)
	}
	require(t, len(surveys["members"].(map[string]any)) == 2, surveys)

	messages := measured("tunnel", "echo", "--rate", "400", "--tunnels", "3", "--size", "2000")
	require(t, messages["sent"] == 200.0 && messages["ok"] == 200.0 && messages["p50"].(float64) > 0, messages)

	published := measured("publish", "load.test", "--rate", "200", "--publishers", "2", "--subscribers", "3", "--subscriber-socket", b.Socket())
	require(t, published["sent"] == 100.0 && published["ok"] == 100.0, published)
	delivery := published["delivery"].(map[string]any)
	require(t, delivery["expected"] == 300.0 && delivery["delivered"] == 300.0 && delivery["untold"] == 0.0, delivery)

	status := a.Does("status").Ends(0)
	require(t, strings.Contains(status.Stdout, "100 copies sent") && strings.Contains(status.Stdout, "0 opened here"), status)
	require(t, strings.Contains(b.Does("status").Ends(0).Stdout, "100 received"), "the other relay's status")

	a.Does("bench", "survey", "nobody", "--rate", "10", "--duration", "200ms").Ends(3).Says("no survey of nobody was complete")
	a.Does("bench", "tunnel", "nobody", "--rate", "10", "--duration", "200ms").Ends(3).Says("nobody serves nobody")
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"testing"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestDemoTellsItsStory(t *testing.T) {
	// This test checks that the demo runs to its end with every reply right,
	// none lost, and a share for each member.
	alone(t)
	report := object(t, harness.Run(t, "demo", "--requests", "5000", "--json"))
	require(t, report["wrong"] == 0.0 && report["lost"] == 0.0, report)
	require(t, report["requests"].(float64) >= 5000 && report["zones"].(float64) > 500, report)
	require(t, len(report["members"].(map[string]any)) == 3, report)
	require(t, report["return_to_serving_ms"].(float64) > 0, report)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/report"
)

// TestPagesCanBeLookedAt writes the pages of the made-up runs to the folder
// that ARKE_PAGES names, for a person with a browser.
func TestPagesCanBeLookedAt(t *testing.T) {
	dir := os.Getenv("ARKE_PAGES")
	if dir == "" {
		t.Skip("ARKE_PAGES is not set")
	}
	h := eventful()
	big := churning(1000, 200_000)
	for name, r := range map[string]*report.Report{
		"passed": report.New(infoOf(h), scenarioOf(), h, verdictOf(h, false)),
		"failed": report.New(infoOf(h), scenarioOf(), h, verdictOf(h, true)),
		"churn":  report.New(infoOf(big), scenarioOf(), big, verdictOf(big, false)),
		"empty":  report.New(report.Info{Name: "broken", Error: "the network did not form within 30 s"}, scenarioOf(), nil, nil),
	} {
		var b bytes.Buffer
		require.NoError(t, r.WriteHTML(&b))
		t.Log(name, b.Len())
		require.NoError(t, os.WriteFile(dir+"/"+name+".html", b.Bytes(), 0o600))
	}
}

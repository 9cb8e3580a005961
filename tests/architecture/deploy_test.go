// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/meaning"
)

// TestDashboardAndAlertsNameMetricsThatExist checks every metric and every reason
// that deploy/ names against the table of package meaning.
func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	known, reasons := map[string]bool{}, map[string]bool{}
	for _, e := range meaning.All() {
		if e.Drop() {
			_, reason, _ := strings.Cut(e.Name, ".")
			reasons[reason] = true
		}
		known[e.Metric] = true
	}
	metric, reason := regexp.MustCompile(`\barke_[a-z_]+`), regexp.MustCompile(`reason=~?\\?"([a-z_|]+)`)
	for _, file := range []string{"alerts.yml", "grafana.json"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", file))
		require.NoError(t, err)
		named := metric.FindAllString(string(text), -1)
		require.Greater(t, len(named), 10)
		for _, name := range named {
			require.True(t, known[name] || known[strings.TrimSuffix(name, "_bucket")], "deploy/%s names %s, which does not exist", file, name)
		}
		for _, m := range reason.FindAllStringSubmatch(string(text), -1) {
			for _, r := range strings.Split(m[1], "|") {
				require.True(t, reasons[r], "deploy/%s names the reason %s, which does not exist", file, r)
			}
		}
		if strings.HasSuffix(file, ".json") {
			require.True(t, json.Valid(text))
		}
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks what people read of a good run and of a bad one.
func TestAVerdictIsWrittenForPeople(t *testing.T) {
	rules := check.Rules{
		Assert:    []string{"lost == 0", "latency_p99 < 5ms", "detection_p99 < 1s", "loss == 0"},
		Sometimes: []string{"requests > 0"},
	}
	s := peace()
	require.Equal(t, `PASS  assert     lost == 0           0
FAIL  assert     latency_p99 < 5ms   10ms
FAIL  assert     detection_p99 < 1s  there is no detection_p99: nothing in this run could be measured for it
FAIL  assert     loss == 0           check: assertion "loss == 0": no metric is called "loss"; near: lost, slows, clogs
PASS  sometimes  requests > 0        300
PASS  checkers   no violations
`, text(t, s.judge(rules)))

	for i := range 25 {
		s.Requests[i].Outcomes = 2
	}
	s.unrun(31)
	bad := text(t, s.judge(check.Rules{}))
	require.Contains(t, bad, "FAIL  checkers   26 violations: belongs 1, outcome 25\n")
	require.Contains(t, bad, "             1.01s  outcome    request 1 of c1 to echo ended 2 times\n")
	require.Contains(t, bad, "      and 6 more\n")
	require.Equal(t, 22, strings.Count(bad, "\n"))
}

func text(t *testing.T, v *check.Verdict) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, v.WriteText(&b))
	return b.String()
}

// This test checks that values carry their unit and never look better than
// they are.
func TestValuesAreWrittenWithTheirUnit(t *testing.T) {
	for want, m := range map[string]check.Metric{
		"12":          {Value: 12, Unit: check.Count},
		"1.5s":        {Value: 1500, Unit: check.Millis},
		"25.3ms":      {Value: 25.3, Unit: check.Millis},
		"99.99%":      {Value: 99.99, Unit: check.Percent},
		"99.999999%":  {Value: 99.99999999, Unit: check.Percent},
		"100%":        {Value: 100, Unit: check.Percent},
		"1.5KiB":      {Value: 1536, Unit: check.Bytes},
		"12B":         {Value: 12, Unit: check.Bytes},
		"2MiB/s":      {Value: 2 << 20, Unit: check.BytesSec},
		"800.33B/s":   {Value: 800.333, Unit: check.BytesSec},
		"1.125":       {Value: 1.125, Unit: check.Ratio},
		"3GiB":        {Value: 3 << 30, Unit: check.Bytes},
		"1m0.000001s": {Value: 60000.001, Unit: check.Millis},
	} {
		require.Equal(t, want, m.String())
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
)

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

// This test checks what assertions may look like, and what they mean.
func TestAssertionsAreRead(t *testing.T) {
	for _, c := range []struct {
		text, metric, op string
		value            float64
		usual            string
	}{
		{"lost == 0", "lost", "==", 0, "lost == 0"},
		{"  lost!=12 ", "lost", "!=", 12, "lost != 12"},
		{"reroute_p99 < 100ms", "reroute_p99", "<", 100, "reroute_p99 < 100ms"},
		{"detection_p99<=1.5s", "detection_p99", "<=", 1500, "detection_p99 <= 1.5s"},
		{"zombie_max > 0", "zombie_max", ">", 0, "zombie_max > 0"},
		{"success >= 99.99%", "success", ">=", 99.99, "success >= 99.99%"},
		{"queue_max < 64KiB", "queue_max", "<", 65536, "queue_max < 64KiB"},
		{"queue_max < 1.5 MB", "queue_max", "<", 1.5e6, "queue_max < 1.5 MB"},
		{"queue_max < 4096", "queue_max", "<", 4096, "queue_max < 4096"},
		{"control_bytes_per_node_s < 2KB/s", "control_bytes_per_node_s", "<", 2000, "control_bytes_per_node_s < 2KB/s"},
		{"control_bytes_per_node_s < 2KB", "control_bytes_per_node_s", "<", 2000, "control_bytes_per_node_s < 2KB"},
		{"lost{idem} == 0", "lost{idem}", "==", 0, "lost{idem} == 0"},
		{"latency_p99{a-1}<1s", "latency_p99{a-1}", "<", 1000, "latency_p99{a-1} < 1s"},
		{"balance < 1.25", "balance", "<", 1.25, "balance < 1.25"},
	} {
		a, err := check.ParseAssertion(c.text)
		require.NoError(t, err)
		require.Equal(t, c.metric, a.Metric)
		require.Equal(t, c.op, a.Op)
		require.InDelta(t, c.value, a.Value, 0)
		require.Equal(t, c.usual, a.String())
	}
}

// This test checks that whatever can't be meant is refused, with the reason.
func TestImpossibleAssertionsAreRefused(t *testing.T) {
	for text, reason := range map[string]string{
		"":                        `want "metric op value", op one of == != <= >= < >`,
		"lost":                    `want "metric op value"`,
		"== 0":                    `the metric is missing`,
		"lost = 0":                `op must be one of`,
		"lost =< 0":               `op must be one of`,
		"lost == ":                `"" is not a whole number`,
		"lost == 0.5":             `"0.5" is not a whole number`,
		"lost == -1":              `no metric is ever negative`,
		"lost == 1s":              `"1s" is not a whole number`,
		"lost == 0 == 0":          `"0 == 0" is not a whole number`,
		"lost == 0x10":            `"0x10" is not a whole number`,
		"lost == inf":             `is not a whole number`,
		"latency_p99 < 100":       `latency_p99: "100" is not a duration, such as 100ms or 1.5s`,
		"latency_p99 > -1s":       `no metric is ever negative`,
		"success >= 99.99":        `"99.99" is not a percentage, such as 99.9%`,
		"success > 101%":          `"101%" is more than all`,
		"success > %":             `is not a percentage`,
		"queue_max < 64 KiBB":     `is not a size, such as 64KiB, 2KB or 4096`,
		"queue_max < 2KB/s":       `is not a size`,
		"balance < one":           `"one" is not a number, such as 1.5`,
		"losst == 0":              `no metric is called "losst"; near: lost`,
		"reroute < 1s":            `near: reroute_p50, reroute_p90, reroute_p99`,
		"balance{idem} == 0":      `balance is not measured for single works`,
		"lost{} == 0":             `"lost{}" must end in the name of a work in braces`,
		"lost{idem == 0":          `must end in the name of a work in braces`,
		"lost{idem}} == 0":        `must end in the name of a work in braces`,
		"lost{i d} == 0":          `must end in the name of a work in braces`,
		"lots{idem} == 0":         `no metric is called "lots"; near: lost`,
		"quark == 0":              `no metric is called "quark"`,
		strings.Repeat("x", 1000): `longer than 200 bytes`,
	} {
		_, err := check.ParseAssertion(text)
		require.ErrorContains(t, err, reason, text)
		require.ErrorContains(t, err, "check: assertion ")
	}
}

// This test checks each operator on, below and above its value.
func TestOperatorsCompare(t *testing.T) {
	for op, want := range map[string][3]bool{
		"==": {false, true, false}, "!=": {true, false, true},
		"<": {true, false, false}, "<=": {true, true, false},
		">": {false, false, true}, ">=": {false, true, true},
	} {
		a, err := check.ParseAssertion("lost " + op + " 2")
		require.NoError(t, err)
		require.Equal(t, want, [3]bool{a.Holds(1), a.Holds(2), a.Holds(3)}, op)
	}
}

// FuzzParseAssertion checks that what is read can be read again as the same.
func FuzzParseAssertion(f *testing.F) {
	for _, seed := range []string{"lost == 0", "reroute_p99 < 100ms", "success >= 99.99%", "queue_max<64KiB", "balance != 1.5", "x = 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := check.ParseAssertion(text)
		if err != nil {
			require.Zero(t, a)
			return
		}
		again, err := check.ParseAssertion(a.String())
		require.NoError(t, err)
		require.Equal(t, a, again)
		require.GreaterOrEqual(t, a.Value, 0.0)
	})
}

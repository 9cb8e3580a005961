// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/sim/scenario"
)

func TestUnitsReadWhatTheyWrite(t *testing.T) {
	// Each value has one text, and the text gives the value again, in YAML and
	// JSON too.
	type file struct {
		D scenario.Duration
		S scenario.Share
		B scenario.Bytes
	}
	for _, tc := range []struct {
		file
		d, s, b string
	}{
		{file{}, "0s", "0%", "0B"},
		{file{scenario.Duration(90 * time.Second), 15_000, 65_536}, "1m30s", "1.5%", "64KiB"},
		{file{scenario.Duration(2 * time.Hour), scenario.Whole, 100}, "2h", "100%", "100B"},
		{file{scenario.Duration(time.Minute), 1, 3 << 20}, "1m", "0.0001%", "3MiB"},
		{file{-scenario.Duration(10 * time.Minute), 123_456, 2 << 30}, "-10m", "12.3456%", "2GiB"},
		{file{scenario.Duration(1500 * time.Microsecond), 100, 1_000_000}, "1.5ms", "0.01%", "1000000B"},
	} {
		require.Equal(t, []string{tc.d, tc.s, tc.b}, []string{tc.D.String(), tc.S.String(), tc.B.String()})
		asYAML, err := yaml.Marshal(tc.file)
		require.NoError(t, err)
		var again file
		require.NoError(t, yaml.Unmarshal(asYAML, &again))
		require.Equal(t, tc.file, again)
		asJSON, err := json.Marshal(tc.file)
		require.NoError(t, err)
		again = file{}
		require.NoError(t, json.Unmarshal(asJSON, &again))
		require.Equal(t, tc.file, again)
	}
}

func TestUnitsReadOtherForms(t *testing.T) {
	// What people write for the same values.
	var b scenario.Bytes
	for text, want := range map[string]scenario.Bytes{"100": 100, "1KB": 1000, "2MB": 2_000_000, "1GB": 1_000_000_000, "64 KiB": 65_536} {
		require.NoError(t, b.UnmarshalText([]byte(text)))
		require.Equal(t, want, b, text)
	}
	require.NoError(t, json.Unmarshal([]byte("4096"), &b))
	require.EqualValues(t, 4096, b)
	var s scenario.Share
	require.NoError(t, s.UnmarshalText([]byte("05.50%")))
	require.EqualValues(t, 55_000, s)
}

func TestUnitsRefuseNonsense(t *testing.T) {
	// What is no value of the unit is an error, never a guess.
	for _, tc := range []struct {
		v     encoding.TextUnmarshaler
		texts []string
	}{
		{new(scenario.Duration), []string{"", "5", "5 s", "soon", "1e9s", "99999999999h"}},
		{new(scenario.Share), []string{"", "5", "%", "-1%", ".5%", "5.%", "100.0001%", "1.00001%", "1e1%", "99999999999999999999%"}},
		{new(scenario.Bytes), []string{"", "B", "-1", "1.5KiB", "5k", "99999999999999999999", "9999999999GiB"}},
	} {
		for _, text := range tc.texts {
			require.Error(t, tc.v.UnmarshalText([]byte(text)), "%T %q", tc.v, text)
		}
	}
}

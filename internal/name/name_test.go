// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package name_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/name"
)

func TestNamesAreTextThatPeopleCanTellApart(t *testing.T) {
	// This test checks which characters a name may have, and what is said of the
	// others. A newline is a control character wherever it stands.
	for s, says := range map[string]string{
		"geo": "", "täglich": "", "two words": "", "日本": "", "a/b:c-d_e": "", "": "", "$status": "",
		" geo": "begins with a blank", "geo ": "ends with a blank", "\u00a0geo": "begins with a blank",
		"geo\n": "control character", "\tgeo": "control character", "a\x00b": "control character", "a\u009bb": "control character",
		"geo@eu": "@ is reserved", "@": "@ is reserved",
		"a\xffb": "not UTF-8",
	} {
		if says == "" {
			require.Empty(t, name.Fault(s), "%q", s)
		} else {
			require.Contains(t, name.Fault(s), says, "%q", s)
		}
	}
}

func BenchmarkFault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		name.Fault("weather.berlin.temperature")
	}
}

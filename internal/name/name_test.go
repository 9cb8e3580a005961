// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package name_test

import (
	"strings"
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
		"c#":     "", "a#1": "", "geo#0123456789abcdef": "references to keys",
	} {
		if says == "" {
			require.Empty(t, name.Fault(s), "%q", s)
		} else {
			require.Contains(t, name.Fault(s), says, "%q", s)
		}
	}
}

func TestAReferenceIsANameAndTheKeysThatItIsUnder(t *testing.T) {
	// This test checks that a reference gives back what it was made of, and that what
	// only looks like one stays a name.
	for _, n := range []string{"geo", "topic:prices", "日本", "x"} {
		for _, keys := range []string{"", "0123456789abcdef"} {
			got, id := name.CutRef(name.Ref(n, keys))
			require.Equal(t, []string{n, keys}, []string{got, id})
		}
	}
	for _, s := range []string{"", "#0123456789abcdef", "geo#", "geo#0123456789abcde", "geo#0123456789ABCDEF", "geo#0123456789abcdef0"} {
		got, id := name.CutRef(s)
		require.Equal(t, s, got)
		require.Empty(t, id)
	}
}

func BenchmarkFault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		name.Fault("weather.berlin.temperature")
	}
}

func TestAnAddressMayNameANetwork(t *testing.T) {
	// This test takes addresses apart, and checks what is said of names of networks.
	for address, want := range map[string][2]string{
		"geo": {"geo", ""}, "geo@eu": {"geo", "eu"}, "a@b@eu-1.prod_2": {"a@b", "eu-1.prod_2"}, "geo@": {"geo", ""},
	} {
		cluster, network, _ := name.Split(address)
		require.Equal(t, want, [2]string{cluster, network}, address)
	}
	_, _, named := name.Split("geo")
	require.False(t, named)
	_, _, named = name.Split("geo@")
	require.True(t, named)
	require.Empty(t, name.NetworkFault("eu-1.prod_2"))
	for _, bad := range []string{"", "e u", "é", strings.Repeat("x", 64)} {
		require.NotEmpty(t, name.NetworkFault(bad), bad)
	}
}

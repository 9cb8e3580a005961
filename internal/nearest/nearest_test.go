// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesAreNearThatBeginTheSameOrDifferInAFewLetters(t *testing.T) {
	// This test proposes names for what was typed, and none where none is near.
	for _, c := range []struct {
		typed string
		names []string
		want  []string
	}{
		{"seeds", []string{"socket", "seed"}, []string{"seed"}},                              // one too many
		{"sede", []string{"need", "seed"}, []string{"seed", "need"}},                         // two exchanged
		{"no", []string{"no-mdns", "name", "on"}, []string{"no-mdns", "on"}},                 // the beginning
		{"Level", []string{"level", "LEVELS"}, []string{"level", "LEVELS"}},                  // case does not count
		{"wxyz", []string{"abcd", "wabc"}, []string{}},                                       // most of it differs
		{"data", []string{"dabb", "date", "dat", "datas"}, []string{"date", "dat", "datas"}}, // three at most
		{"cleints", []string{"clients", "client"}, []string{"clients", "client"}},
		{"", []string{"a", "abc"}, []string{"a"}},
	} {
		require.Equal(t, c.want, Names(c.typed, 2, c.names), c.typed)
	}
	require.Equal(t, []string{"m", "a"}, Names("n", 1, []string{"m", "a", "node"}))
	require.Equal(t, "a", Name("n", []string{"m", "a"}), "the alphabet decides")
	require.Empty(t, Name("hello", []string{"help"}), "two of five letters differ")
	require.Equal(t, ", did you mean --a?", Hint("n", []string{"a"}, "--%s"))
	require.Empty(t, Hint("hello", []string{"help"}, "--%s"))
}

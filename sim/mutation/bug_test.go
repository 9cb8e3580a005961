// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func allBugs(t *testing.T) []Bug {
	t.Helper()
	bugs, err := Bugs()
	require.NoError(t, err)
	return bugs
}

// This test checks that each bug has a name of its own, says what it does, and
// names a promise and its section.
func TestEveryBugIsDescribed(t *testing.T) {
	bugs := allBugs(t)
	require.Len(t, bugs, 48)
	names := make(map[string]bool)
	for _, b := range bugs {
		require.Regexp(t, `^[a-z]+(-[a-z]+)+$`, b.Name)
		require.NotEmpty(t, b.Layer, b.Name)
		require.NotEmpty(t, b.Breaks, b.Name)
		require.Regexp(t, `^[1-9]: .{12,}$`, b.Promise, b.Name)
		require.NotEmpty(t, b.hunks, b.Name)
		require.False(t, names[b.Name], b.Name)
		names[b.Name] = true
		found, err := Find(bugs, b.Name)
		require.NoError(t, err)
		require.Equal(t, b, found)
	}
	_, err := Find(bugs, "none")
	require.ErrorContains(t, err, `"none"`)
}

// This test checks that a bug's file is read as it is meant, and that one with
// a mistake is named.
func TestABugIsRead(t *testing.T) {
	const head = "Breaks: a is not b\nPromise: 4: a is b\n"
	shelf := func(text string) fstest.MapFS {
		return fstest.MapFS{"bugs/patterns/request/a-b.diff": {Data: []byte(text)}}
	}
	bugs, err := read(shelf(head + "@@\n \ta = b // so far\n+\tb++\n-\tc   :=  d\n@@\n-\t}\n"))
	require.NoError(t, err)
	require.Equal(t, []Bug{{
		Name: "a-b", Layer: "patterns/request", Breaks: "a is not b", Promise: "4: a is b",
		hunks: []hunk{
			{from: []string{"a = b", "c := d"}, to: []string{"\ta = b // so far", "\tb++"}},
			{from: []string{"}"}},
		},
	}}, bugs)
	for text, want := range map[string]string{
		"":                               "the first line begins with Breaks:",
		"Breaks: a\n@@\n-b\n":            "the first line begins with Breaks:",
		head:                             `the line "" begins neither`,
		head + "@@\n-a\nb\n":             `the line "b" begins neither`,
		head + "@@\n-a\n@@\n+b\n // c\n": "no line by which its place is found",
	} {
		_, err := read(shelf(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "sim/mutation/bugs/patterns/request/a-b.diff", text)
	}
}

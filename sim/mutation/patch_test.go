// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// bugOf makes a bug of its hunks' text.
func bugOf(t *testing.T, name, layer, hunks string) Bug {
	t.Helper()
	b := Bug{Name: name, Layer: layer}
	require.NoError(t, b.parse("Breaks: x\nPromise: 4: y\n@@\n"+hunks))
	return b
}

var someFiles = map[string]string{
	"a.go": "func a() {\n\tone()\n\n\t// Why.\n\ttwo() // and why\n}\n",
	"b.go": "func b() {\n\tif x {\n\t\tone()\n\t\tthree()\n\t\tfour()\n\t}\n}\n",
}

// This test checks that the place of a hunk is found in whichever file of the
// package it is, however it is indented, aligned and commented.
func TestAHunkFindsItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		hunks string
		want  map[string]string
	}{
		"added": {
			" one()\n+\tsix()\n two()\n",
			map[string]string{"a.go": "func a() {\n\tone()\n\tsix()\n\ttwo()\n}\n"},
		},
		"replaced": {
			" if  x  {\n-one()\n+\t\tsix()\n",
			map[string]string{"b.go": "func b() {\n\tif  x  {\n\t\tsix()\n\t\tthree()\n\t\tfour()\n\t}\n}\n"},
		},
		"removed": {
			"-\tthree()\n",
			map[string]string{"b.go": "func b() {\n\tif x {\n\t\tone()\n\t\tfour()\n\t}\n}\n"},
		},
		"in several files and places": {
			"-two()\n@@\n-four()\n@@\n-if x {\n+if y {\n",
			map[string]string{
				"a.go": "func a() {\n\tone()\n\n\t// Why.\n}\n",
				"b.go": "func b() {\nif y {\n\t\tone()\n\t\tthree()\n\t}\n}\n",
			},
		},
	} {
		got, err := bugOf(t, "a-b", "layer", c.hunks).patch(someFiles)
		require.NoError(t, err, name)
		for file, want := range c.want {
			require.Equal(t, unindented(want), unindented(got[file]), name)
		}
		require.Len(t, got, len(c.want), name)
	}
}

// unindented drops what a hunk may write as it likes.
func unindented(text string) []string {
	code, _ := significant(text)
	return code
}

// This test checks that whoever moves the lines of a hunk reads which bug it
// is, where it could have been, and what it looked for.
func TestAHunkWithoutAPlaceIsExplained(t *testing.T) {
	for hunks, want := range map[string][]string{
		"-one()\n":                          {"hunk 1", "several places (a.go:2, b.go:3)", "\tone()"},
		"-two()\n@@\n-one()\n-nine()\n":     {"hunk 2", "a.go:2 has the first 1 of them", "\tone()\n\tnine()"},
		"-nine()\n":                         {"hunk 1", "in no file of the package:", "\tnine()"},
		" three()\n-four()\n@@\n-three()\n": {"overlap", "layer/b.go:4"},
	} {
		_, err := bugOf(t, "a-b", "layer", hunks).patch(someFiles)
		require.ErrorContains(t, err, "sim/mutation/bugs/layer/a-b.diff", hunks)
		for _, text := range want {
			require.ErrorContains(t, err, text, hunks)
		}
	}
}

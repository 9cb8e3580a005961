// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
)

func FuzzPatternsAndTopics(f *testing.F) {
	// This test checks, for any two strings, that the checks, Group, Matches
	// and Index agree with one another, and with a definition by words.
	for _, s := range [][2]string{
		{"a.b", "a.b"},
		{"a.*", "a.b"},
		{"a.>", "a.b.c"},
		{">", "a"},
		{"*", "a"},
		{"", ""},
		{"a..b", "."},
		{"a.>.b", "*"},
		{strings.Repeat("a.", 127) + ">", strings.Repeat("a.", 127) + "b"},
		{"*.*.>", "a.b"},
		{"ä.*", "ä.\x00"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, topic string) {
		isPattern, isTopic := match.CheckPattern(pattern) == nil, match.CheckTopic(topic) == nil
		if isTopic {
			require.NoError(t, match.CheckPattern(topic), "a topic is a pattern")
			require.True(t, match.Matches(topic, topic), "and stands for itself")
		}
		matches := match.Matches(pattern, topic) // must not panic, whatever they are
		var x match.Index[int]
		x.Add(pattern, 1)
		x.Add(topic, 2)
		found := x.Match(topic, nil)
		x.Remove(pattern, 1)
		x.Remove(topic, 2)
		require.Zero(t, x.Len())
		require.Empty(t, x.Match(topic, nil))
		if !isPattern || !isTopic {
			return
		}
		require.Equal(t, byWords(pattern, topic), matches)
		want := []int{2}
		if matches {
			want = append(want, 1)
		}
		require.ElementsMatch(t, want, found)
		if p, root := match.Group(pattern); matches && !root {
			word, _ := match.Group(topic)
			require.Equal(t, word, p, "what matches is of the same group")
		}
	})
}

// byWords is the definition: word by word.
func byWords(pattern, topic string) bool {
	p, t := strings.Split(pattern, "."), strings.Split(topic, ".")
	for i, word := range p {
		switch {
		case word == ">":
			return len(t) > i
		case i >= len(t) || word != "*" && word != t[i]:
			return false
		}
	}
	return len(p) == len(t)
}

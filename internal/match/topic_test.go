// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/patterns"
)

func TestTopicsAndPatternsAreCheckedByTheSameRules(t *testing.T) {
	// This test checks what is a topic, what is a pattern only, and what is
	// neither.
	long := strings.Repeat("a.", 127) + "b" // 255 bytes
	for _, c := range []struct {
		text           string
		topic, pattern bool
	}{
		{"a", true, true},
		{"a.b.c", true, true},
		{"orders.eu-1.täglich", true, true},
		{"a*.b", false, false}, // wildcards are words, not letters
		{"a.>b", false, false},
		{"a.b.c>", false, false},
		{"**", false, false},
		{"a.*.b*", false, false},
		{"geo@eu.a", false, false}, // kept for other networks
		{"$a.b", false, false},     // kept for Arke
		{"a.$b", true, true},
		{" a", false, false},
		{"a ", false, false},
		{"a b.c d", true, true},
		{"a\nb", false, false},
		{"a.\xff", false, false},
		{long, true, true},
		{long + "b", false, false},
		{"*", false, true},
		{">", false, true},
		{"*.*.>", false, true},
		{"a.*.c", false, true},
		{"a.>", false, true},
		{"a.>.c", false, false},
		{">.>", false, false},
		{"", false, false},
		{".", false, false},
		{".a", false, false},
		{"a.", false, false},
		{"a..b", false, false},
		{"a.>.", false, false},
	} {
		verdict := func(err error) bool {
			if err != nil {
				require.ErrorIs(t, err, patterns.ErrTopic)
				require.Less(t, len(err.Error()), 512)
			}
			return err == nil
		}
		require.Equal(t, c.topic, verdict(match.CheckTopic(c.text)), "topic %q", c.text)
		require.Equal(t, c.pattern, verdict(match.CheckPattern(c.text)), "pattern %q", c.text)
	}
}

func TestAWildcardInAWordIsAnErrorThatSaysWhatWasMeant(t *testing.T) {
	// This test checks the words: geo* is a mistake in a topic and in a pattern,
	// and not the same one.
	require.ErrorContains(t, match.CheckTopic("geo*"), `"geo*": * and > stand for whole words only: a topic has none of them`)
	require.ErrorContains(t, match.CheckPattern("a.b*"), `"a.b*": * and > stand for whole words only: write a.*`)
	require.ErrorContains(t, match.CheckTopic("a\x1b[2J"), `"a\x1b[2J": it has a control character`)
}

func TestGroupIsTheFirstWordOrTheRoot(t *testing.T) {
	// This test checks the groups of topics and of patterns with and without a
	// wildcard at the front.
	for text, want := range map[string]string{"a": "a", "a.b": "a", "a.>": "a", "*": "*", ">": "*", "*.b": "*"} {
		word, root := match.Group(text)
		require.Equal(t, want, word, text)
		require.Equal(t, want == "*", root, text)
	}
}

func TestWildcardsStandForOneWordOrTheRest(t *testing.T) {
	// This test checks the meaning of patterns, one line each.
	for _, c := range []struct {
		pattern, topic string
		want           bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"a.b", "a.b", true},
		{"*", "a", true},
		{"*", "a.b", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.*", "a", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.>", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c.d", true},
		{"*.>", "a", false},
		{"*.b.>", "a.b.c", true},
		{"ab", "a", false},
		{"a", "ab", false},
		{"a.b", "a.bc", false},
	} {
		require.Equal(t, c.want, match.Matches(c.pattern, c.topic), "%s on %s", c.pattern, c.topic)
		var x match.Index[int]
		x.Add(c.pattern, 1)
		require.Equal(t, c.want, len(x.Match(c.topic, nil)) == 1, "%s on %s, by index", c.pattern, c.topic)
	}
}

// sentences are all texts of at most so many of the words; none goes on behind a >.
func sentences(most int, words ...string) (all []string) {
	for _, w := range words {
		all = append(all, w)
		if most > 1 && w != ">" {
			for _, rest := range sentences(most-1, words...) {
				all = append(all, w+"."+rest)
			}
		}
	}
	return all
}

func TestAPatternCoversWhatItStandsFor(t *testing.T) {
	// This test compares Covers with its definition, for all patterns of up to three
	// words: the topics of up to four words tell every two of them apart.
	patterns, topics := sentences(3, "a", "b", "*", ">"), sentences(4, "a", "b", "c")
	for _, wide := range patterns {
		require.NoError(t, match.CheckPattern(wide))
		for _, narrow := range patterns {
			want := !slices.ContainsFunc(topics, func(topic string) bool {
				return match.Matches(narrow, topic) && !match.Matches(wide, topic)
			})
			require.Equal(t, want, match.Covers(wide, narrow), "%s covers %s", wide, narrow)
		}
		for _, topic := range topics {
			require.Equal(t, match.Matches(wide, topic), match.Covers(wide, topic), "%s covers %s", wide, topic)
		}
	}
}

func TestPatternsMeetIfThereIsATopicOfBoth(t *testing.T) {
	// This test compares pairs of patterns with all topics of few words.
	patterns, topics := sentences(3, "a", "b", "*", ">"), append(sentences(3, "a", "b"), "a.b.a.b", "a.b.a.a")
	for _, a := range patterns {
		for _, b := range patterns {
			want := slices.ContainsFunc(topics, func(topic string) bool { return match.Matches(a, topic) && match.Matches(b, topic) })
			require.Equal(t, want, match.Meet(a, b), "%s and %s", a, b)
		}
	}
}

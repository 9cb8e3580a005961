// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
)

// randomTopic has up to five words of few letters, so that patterns meet.
func randomTopic(r *rand.Rand, letters int) string {
	words := make([]string, 1+r.IntN(5))
	for i := range words {
		words[i] = fmt.Sprint("w", r.IntN(letters))
	}
	return strings.Join(words, ".")
}

func randomPattern(r *rand.Rand, letters int) string {
	words := strings.Split(randomTopic(r, letters), ".")
	for i := range words {
		switch {
		case r.IntN(4) == 0:
			words[i] = "*"
		case i == len(words)-1 && r.IntN(4) == 0:
			words[i] = ">"
		}
	}
	return strings.Join(words, ".")
}

// entry is what was added to a structure.
type entry struct {
	pattern string
	value   int
}

// expected is what Matches says of all entries.
func expected(all []entry, topic string) []int {
	out := []int{}
	for _, e := range all {
		if match.Matches(e.pattern, topic) {
			out = append(out, e.value)
		}
	}
	slices.Sort(out)
	return out
}

func TestEachStructureFindsExactlyWhatMatches(t *testing.T) {
	// This test checks each structure against Matches while random patterns
	// come and go: values under several patterns, several values under one,
	// removals of what is not there.
	for _, c := range contestants() {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 7))
				letters := 1 + r.IntN(6)
				if seed%4 == 0 {
					letters = 50
				}
				s, all := c.empty(), []entry(nil)
				for range 300 {
					step(r, s, &all, letters)
					require.Equal(t, len(all), s.Len())
					topic := randomTopic(r, letters)
					got := s.Match(topic, []int{-1})
					require.Equal(t, -1, got[0], "Match appends")
					got = got[1:]
					slices.Sort(got)
					require.Equal(t, expected(all, topic), got, "seed %d, topic %s, entries %v", seed, topic, all)
				}
				for _, i := range r.Perm(len(all)) {
					s.Remove(all[i].pattern, all[i].value)
				}
				require.Zero(t, s.Len())
				require.Empty(t, s.Match(randomTopic(r, letters), nil))
			}
		})
	}
}

// step adds or removes something, in both.
func step(r *rand.Rand, s structure, all *[]entry, letters int) {
	switch {
	case len(*all) > 0 && r.IntN(5) < 2:
		i := r.IntN(len(*all))
		e := (*all)[i]
		s.Remove(e.pattern, e.value)
		*all = slices.Delete(*all, i, i+1)
	case r.IntN(10) == 0:
		s.Remove(randomPattern(r, letters), -5) // nobody added it
	default:
		e := entry{randomPattern(r, letters), r.IntN(20)}
		s.Add(e.pattern, e.value)
		*all = append(*all, e)
	}
}

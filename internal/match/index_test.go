// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
)

func TestNothingMatchesInAnEmptyIndex(t *testing.T) {
	// This test checks the zero value, and what is no topic.
	var x match.Index[string]
	require.Empty(t, x.Match("a.b", nil))
	x.Remove("a.b", "v")
	require.Zero(t, x.Len())
	x.Add(">", "v")
	require.Empty(t, x.Match("", nil))
	require.Empty(t, x.Match(strings.Repeat("a", 256), nil))
	require.Empty(t, x.Match(strings.Repeat(".", 200), nil), "129 words and more are no topic")
}

func TestTopicsOfManyWordsMatch(t *testing.T) {
	// This test checks the largest number of words, which is more than those
	// that have their hashes computed beforehand.
	var x match.Index[int]
	deep := strings.TrimSuffix(strings.Repeat("a.", 128), ".")
	x.Add(deep, 1)
	x.Add(strings.TrimSuffix(strings.Repeat("*.", 128), "."), 2)
	x.Add(strings.Repeat("a.", 127)+">", 3)
	x.Add(strings.Repeat("a.", 127)+"b", 4)
	x.Add(strings.Repeat("a.", 126)+"a", 5)
	require.ElementsMatch(t, []int{1, 2, 3}, x.Match(deep, nil))
}

func TestOrderOfMatchesIsAlwaysTheSame(t *testing.T) {
	// This test checks that two indexes with different seeds answer in the
	// same order, which the simulator needs.
	fill := func() *match.Index[int] {
		x := new(match.Index[int])
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 2000 {
			x.Add(randomPattern(r, 3), i)
		}
		return x
	}
	a, b := fill(), fill()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		topic := randomTopic(r, 3)
		require.Equal(t, a.Match(topic, nil), b.Match(topic, nil))
	}
}

func TestWhatStaysIsFoundWhileOthersComeAndGo(t *testing.T) {
	// This test checks, for each structure, that readers always see what was
	// added before and stays, whatever writers do beside it, and never what
	// does not match. Run it with -race.
	for _, c := range contestants() {
		t.Run(c.name, func(t *testing.T) {
			s := c.empty()
			stays := []entry{{"w0.w1.w2", 1}, {"w0.*.w2", 2}, {"w0.>", 3}, {"*.w1.*", 4}, {"w0.w1.w2", 5}}
			for _, e := range stays {
				s.Add(e.pattern, e.value)
			}
			var readers, writers sync.WaitGroup
			stop := make(chan struct{})
			for w := range 2 {
				writers.Go(func() { churn(s, w) })
			}
			for range 3 {
				readers.Go(func() {
					for dst := []int(nil); ; {
						select {
						case <-stop:
							return
						default:
						}
						dst = s.Match("w0.w1.w2", dst[:0])
						checkStayed(t, dst)
					}
				})
			}
			writers.Wait()
			close(stop)
			readers.Wait()
			require.Equal(t, len(stays), s.Len())
		})
	}
}

// churn adds and removes values from 100 on, at patterns that match (even
// values) and at some that do not (odd ones).
func churn(s structure, writer int) {
	r := rand.New(rand.NewPCG(uint64(writer), 9))
	yes := []string{"w0.w1.w2", "w0.w1.*", "w0.*.w2", ">", "*.>", "w0.w1.>", "*.*.*"}
	no := []string{"w0.w1", "w0", "w0.w1.w2.w3", "w0.w1.w2.>", "w1.>", "w0.w1.x%d", "w0.y%d.w2", "z%d.w1.w2"}
	for i := range 1000 {
		pattern, v := yes[r.IntN(len(yes))], 100+2*(2*i+writer)
		if r.IntN(2) == 0 {
			pattern = no[r.IntN(len(no))]
			if strings.Contains(pattern, "%") {
				pattern = fmt.Sprintf(pattern, r.IntN(40))
			}
			v++
		}
		s.Add(pattern, v)
		if r.IntN(4) > 0 {
			s.Remove(pattern, v)
			continue
		}
		defer s.Remove(pattern, v)
	}
}

// checkStayed fails if one of the values 1 to 5 is not there once, or one that
// can't match is.
func checkStayed(t *testing.T, got []int) {
	var seen [6]int
	for _, v := range got {
		switch {
		case v < len(seen):
			seen[v]++
		case v%2 == 1:
			t.Errorf("%d matches, but its pattern does not", v)
		}
	}
	if seen != [6]int{0, 1, 1, 1, 1, 1} {
		t.Errorf("of the values that stay, these were seen: %v", seen[1:])
	}
}

func TestManySubscriptionsToOnePatternEndInNoTime(t *testing.T) {
	// This test adds as many values to one pattern as a node may have, and
	// removes them in the same order: with a copy for each it would take
	// seconds. What was removed is not kept for long.
	const n = 100_000
	var x match.Index[*int]
	values := make([]*int, n)
	for i := range values {
		values[i] = new(int)
		x.Add("a.b", values[i])
	}
	require.Equal(t, values, x.Match("a.b", nil))
	for i, v := range values {
		x.Remove("a.b", v)
		if i%10_000 == 0 {
			require.Equal(t, values[i+1:], x.Match("a.b", nil))
		}
	}
	require.Zero(t, x.Len())
	require.Empty(t, x.Match("a.b", nil))
}

func TestMatchAllocatesNothing(t *testing.T) {
	// This test counts the allocations of a Match whose dst is large enough.
	var x match.Index[int]
	load := newWorkload(10_000)
	load.fill(&x)
	dst := make([]int, 0, 1024)
	i := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		dst = x.Match(load.topics[i%len(load.topics)], dst[:0])
		i++
	}))
	require.NotEmpty(t, dst)
}

func TestChurnLeavesNothingBehind(t *testing.T) {
	// This test adds and removes many different patterns: what is left of them
	// in memory is nothing, and what an index keeps per subscription is bounded.
	var x match.Index[int]
	load := newWorkload(50_000)
	before := heap()
	for range 2 {
		load.fill(&x)
		full := float64(heap()-before) / float64(x.Len())
		require.Less(t, full, 160.0, "bytes per subscription")
		for i, p := range load.patterns {
			x.Remove(p, i)
		}
		require.Less(t, heap()-before, int64(100_000))
	}
	require.Zero(t, x.Len())
}

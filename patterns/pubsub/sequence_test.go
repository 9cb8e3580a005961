// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// several is what has several numbers.
type several struct{ first, count uint64 }

// TestNumbersBecomeAnOrder proves, event by event, what goes on when. An event
// is a number that comes, or some from one to another, "told n", or "at t"; what
// follows is what goes on: a number, or -n for a gap of n.
func TestNumbersBecomeAnOrder(t *testing.T) {
	for name, c := range map[string]string{
		"in order":                          "1>1 2>2 3>3",
		"overtaken":                         "2> 1>1,2 3>3",
		"twice":                             "1>1 1> 2>2 1>",
		"a hole is waited for":              "2> at499> at500>-1,2 1>",
		"the first messages are missing":    "5> at500>-4,5",
		"two holes known at once end so":    "2> 4> at500>-1,2,-1,4",
		"a later hole has its own time":     "2> at300> 4> at500>-1,2 at799> at800>-1,4",
		"told of a lost tail":               "1>1 told3> at499> at500>-2 4>4",
		"told what is known":                "1>1 told1> 2>2 told1>",
		"told in vain":                      "told2> 1>1 2>2 at600>",
		"the tail comes after it was told":  "told3> at400> 1>1 2>2 at500>-1 3>",
		"a hole and a tail":                 "2> told3> at500>-1,2,-1 4>4",
		"too much behind a hole":            "2> 3> 4> 5> 6>-1,2,3,4,5,6 1>",
		"a hole closes while another waits": "2> 5> 1>1,2 at500>-2,5",
		"several at once":                   "1..3>1,2,3 4>4 5..5>5",
		"several are overtaken":             "4..5> 3> 1..2>1,2,3,4,5",
		"some of several are late":          "1>1 5> at500>-3,5 3..7>6,7 2..4>",
		"some of several were there before": "2..3> 3..4> 1..2>1,2,3,4",
		"all of several were there before":  "1..4>1,2,3,4 2..3> 4..5>5",
		"told of some of several":           "told2> 1..3>1,2,3 at600>",
		"told of more than several":         "told4> 1..3>1,2,3 at500>-1 5>5",
	} {
		t.Run(name, func(t *testing.T) {
			s := sequence[several]{wait: 500, maxHeld: 4, maxBytes: 1000}
			now := int64(0)
			for _, text := range strings.Fields(c) {
				event, want, _ := strings.Cut(text, ">")
				var n, end uint64
				switch {
				case scan(event, "told%d", &n):
					s.tell(now, n)
				case scan(event, "at%d", &n):
					now = int64(n)
				case scan(event, "%d..%d", &n, &end):
					s.offer(now, n, end-n+1, 1, several{n, end - n + 1})
				case scan(event, "%d", &n):
					s.offer(now, n, 1, 1, several{n, 1})
				default:
					t.Fatal(event)
				}
				var got []string
				for _, st := range s.advance(now, nil) {
					if st.gap > 0 {
						got = append(got, fmt.Sprint("-", st.gap))
						continue
					}
					for n := st.item.first + uint64(st.skip); n < st.item.first+st.item.count; n++ {
						got = append(got, fmt.Sprint(n))
					}
				}
				require.Equal(t, want, strings.Join(got, ","), text)
			}
		})
	}
}

func scan(s, format string, into ...any) bool {
	n, err := fmt.Sscanf(s, format, into...)
	return n == len(into) && err == nil
}

// TestDeliveredAndGapsAreWhatWasSent proves, for random losses, repetitions and
// orders of one number and of several, that each number goes on once and in order
// or is within a gap, that gaps are no larger than what is missing, and that
// nothing stays behind.
func TestDeliveredAndGapsAreWhatWasSent(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := sequence[several]{wait: 500, maxHeld: 50, maxBytes: 4000}
		const count = 300
		var coming []several
		for n := uint64(1); n <= count; {
			of := several{n, min(1+uint64(r.IntN(4))*uint64(r.IntN(2)), count-n+1)}
			n += of.count
			if r.IntN(10) > 0 {
				coming = append(coming, of)
			}
			if r.IntN(10) == 0 {
				coming = append(coming, several{of.first, 1 + uint64(r.IntN(int(of.count)))})
			}
		}
		for range 100 {
			i := r.IntN(len(coming))
			j := min(len(coming)-1, i+r.IntN(20))
			coming[i], coming[j] = coming[j], coming[i]
		}
		now, next := int64(0), uint64(1)
		take := func() {
			for _, st := range s.advance(now, nil) {
				if st.gap > 0 {
					next += st.gap
					continue
				}
				require.Less(t, uint64(st.skip), st.item.count, "seed %d", seed)
				require.Equal(t, next, st.item.first+uint64(st.skip), "seed %d", seed)
				next = st.item.first + st.item.count
			}
		}
		for _, n := range coming {
			now += int64(r.IntN(40))
			if s.pass(n.first, n.count) {
				require.Equal(t, next, n.first)
				next += n.count
				continue
			}
			s.offer(now, n.first, n.count, 100, n)
			take()
			if due, ok := s.due(); ok {
				require.Greater(t, due, now, "what is due was done")
			}
		}
		s.tell(now, count)
		for due, ok := s.due(); ok; due, ok = s.due() {
			now = max(now, due)
			take()
		}
		require.EqualValues(t, count+1, next)
		require.Zero(t, s.bytes)
		require.Empty(t, s.held)
	}
}

// TestOrderCostsNothing proves that messages in order are not even kept.
func TestOrderCostsNothing(t *testing.T) {
	s := sequence[*int]{wait: 500, maxHeld: 50, maxBytes: 4000}
	n := uint64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() { n++; require.True(t, s.pass(n, 1)) }))
}

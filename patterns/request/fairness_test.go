// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test proves that a caller with twenty times the load of nine others, which asks for more
// than the member can do, takes nothing from them: each gets what it asks for, as that is
// below a tenth, and the member does as much as it can.
func TestAGreedyCallerDoesNotStarveOthers(t *testing.T) {
	const seconds, polite = 10, 9
	for _, c := range []struct {
		concurrency, length int
		work, deadline      time.Duration
		kind                kind
	}{
		{8, 128, 100 * time.Millisecond, time.Second, kindRequest},
		{8, 16, 100 * time.Millisecond, time.Second, kindRequest}, // full by number
		{8, 10_000, 100 * time.Millisecond, time.Second, kindRequest},
		{64, 1024, 100 * time.Millisecond, 10 * time.Second, kindRequest}, // the defaults: full by number
		{64, 10_000, 5 * time.Millisecond, 100 * time.Millisecond, kindRequest},
		{8, 10_000, 100 * time.Millisecond, time.Second, kindPush},
		{64, 1024, 100 * time.Millisecond, 10 * time.Second, kindPush},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			s := newShop(c.concurrency, c.length, fixed(c.work))
			capacity := float64(c.concurrency) / c.work.Seconds()
			rate := 0.07 * capacity // of a polite one
			sent := make(map[string]int)
			for i := range int(seconds * rate * (20 + polite)) {
				s.caller = "greedy"
				if n := i % (20 + polite); n%3 == 0 && n/3 < polite {
					s.caller = fmt.Sprint(n / 3)
				}
				sent[s.caller]++
				s.arrive(int64(float64(i)/rate/(20+polite)*1e9), int64(c.deadline), c.kind)
			}
			s.until(s.now + int64(time.Minute))
			for i := range polite {
				name := fmt.Sprint(i)
				require.GreaterOrEqual(t, float64(s.inTime[name]), 0.98*float64(sent[name]), "%s of %d", name, sent[name])
			}
			require.GreaterOrEqual(t, float64(len(s.replies)), 0.9*capacity*seconds)
			require.Empty(t, s.queue.lines.of, "callers without requests are forgotten")
		})
	}
}

// This test proves that the order is the same from whichever end it is looked up, that a
// caller's requests stay in their order, and that of two callers none has two started before the
// other has one.
func TestCallersTakeTurns(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	q := queue{limits: patterns.Limits{Concurrency: 1, QueueLength: 1000, QueueBytes: 1000}}
	v, _ := q.offer(0, &ticket{deadline: never})
	require.Equal(t, verdictRun, v)
	var all []*ticket
	for i := range 300 {
		caller := "rare"
		if random.IntN(5) > 0 {
			caller = fmt.Sprint("frequent", random.IntN(3))
		}
		tk := &ticket{caller: caller, size: 1, deadline: never, began: int64(i)}
		turn := q.lines.next(0, caller)
		want := 0
		for _, each := range all {
			if each.turn <= turn {
				want++
			}
		}
		_, ahead := q.waiting.before(turn)
		require.Equal(t, want, ahead)
		v, out := q.offer(0, tk)
		require.Equal(t, verdictWait, v)
		require.Empty(t, out)
		all = append(all, tk)
	}
	counts := make(map[string]int)
	rest := make(map[string]int)
	for _, tk := range all {
		rest[tk.caller]++
	}
	var last []*ticket
	for range all {
		next, _ := q.finish(1, q.running.first, didNotRun)
		last = append(last, next)
		counts[next.caller]++
		rest[next.caller]--
		for caller, n := range rest {
			require.False(t, n > 0 && counts[caller] < counts[next.caller]-1, "%s is passed over", caller)
		}
	}
	for _, caller := range []string{"rare", "frequent0"} {
		of := func(list []*ticket) []*ticket {
			return slices.DeleteFunc(slices.Clone(list), func(t *ticket) bool { return t.caller != caller })
		}
		require.Equal(t, of(all), of(last))
	}
}

// This test proves what gives way in a full queue: the newest of the caller with the most, but
// neither what was accepted for good nor what was handed over, of which there is more instead.
func TestTheCallerWithTheMostGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		keep, elsewhere bool
		verdict         verdict
		out             int
	}{
		"requests":         {verdict: verdictWait, out: 1},
		"accepted pushes":  {keep: true, verdict: verdictWait},
		"handed over":      {elsewhere: true, verdict: verdictWait},
		"of the same turn": {verdict: refusedLength},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue{limits: patterns.Limits{Concurrency: 1, QueueLength: 4, QueueBytes: 100}, elsewhere: c.elsewhere}
			offer := func(caller string) (*ticket, verdict, []*ticket) {
				tk := &ticket{caller: caller, deadline: never, keep: c.keep}
				v, out := q.offer(0, tk)
				return tk, v, out
			}
			_, v, _ := offer("greedy")
			require.Equal(t, verdictRun, v)
			gone, _, _ := offer("gone")
			require.True(t, q.withdraw(gone))
			var newest *ticket
			for range 5 {
				if tk, v, _ := offer("greedy"); v == verdictWait {
					newest = tk
				}
			}
			_, v, out := offer("greedy")
			require.Equal(t, refusedLength, v)
			require.Empty(t, out)
			if name == "of the same turn" {
				for i := range 3 { // each displaces one
					_, v, _ = offer(fmt.Sprint(i))
					require.Equal(t, verdictWait, v)
				}
				_, v, _ = offer("late")
				require.Equal(t, c.verdict, v)
				return
			}
			_, v, out = offer("polite")
			require.Equal(t, c.verdict, v)
			require.Len(t, out, c.out)
			if c.out > 0 {
				require.Same(t, newest, out[0])
			}
		})
	}
}

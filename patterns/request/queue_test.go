// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func TestQueueRunsWaitsAndRefuses(t *testing.T) {
	// This test steps through the queue's decisions; each round says what is
	// done and what comes of it.
	type round struct {
		now      int64
		offer    string // name of the ticket
		size     int
		deadline int64 // 0 = never
		keep     bool
		withdraw string
		finish   bool
		drain    bool

		verdict verdict
		next    string   // after finish
		expired []string // in this round
		out     bool     // withdraw took it out
	}
	for name, test := range map[string]struct {
		limits patterns.Limits
		rounds []round
	}{
		"no more than Concurrency run, the others in their order": {
			patterns.Limits{Concurrency: 2, QueueLength: 2, QueueBytes: 100},
			[]round{
				{offer: "a", verdict: verdictRun},
				{offer: "b", verdict: verdictRun},
				{offer: "c", verdict: verdictWait},
				{offer: "d", verdict: verdictWait},
				{offer: "e", verdict: refusedLength},
				{finish: true, next: "c"},
				{offer: "f", verdict: verdictWait},
				{finish: true, next: "d"},
				{finish: true, next: "f"},
				{finish: true},
				{finish: true},
			},
		},
		"no queue at all": {
			patterns.Limits{Concurrency: 1, QueueLength: 0, QueueBytes: 100},
			[]round{
				{offer: "a", verdict: verdictRun},
				{offer: "b", verdict: refusedLength},
				{finish: true},
				{offer: "c", verdict: verdictRun},
			},
		},
		"bytes bound those that wait, not those that run": {
			patterns.Limits{Concurrency: 1, QueueLength: 9, QueueBytes: 100},
			[]round{
				{offer: "a", size: 1000, verdict: verdictRun},
				{offer: "b", size: 60, verdict: verdictWait},
				{offer: "c", size: 41, verdict: refusedBytes},
				{offer: "d", size: 40, verdict: verdictWait},
				{finish: true, next: "b"},
				{offer: "e", size: 60, verdict: verdictWait},
			},
		},
		"what has expired does not run": {
			patterns.Limits{Concurrency: 1, QueueLength: 9, QueueBytes: 100},
			[]round{
				{now: 5, offer: "late", deadline: 5, verdict: refusedExpired},
				{now: 5, offer: "a", verdict: verdictRun},
				{now: 5, offer: "b", deadline: 10, verdict: verdictWait},
				{now: 5, offer: "c", deadline: 30, verdict: verdictWait},
				{now: 10, finish: true, expired: []string{"b"}, next: "c"},
			},
		},
		"what has expired makes room when the queue is full": {
			patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 100},
			[]round{
				{offer: "a", verdict: verdictRun},
				{offer: "b", deadline: 20, verdict: verdictWait},
				{offer: "c", deadline: 10, verdict: verdictWait},
				{now: 9, offer: "d", verdict: refusedLength},
				{now: 10, offer: "e", expired: []string{"c"}, verdict: verdictWait},
				{now: 11, offer: "f", verdict: refusedLength},
				{now: 12, finish: true, next: "b"},
			},
		},
		"a withdrawn request never runs": {
			patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 100},
			[]round{
				{offer: "a", verdict: verdictRun},
				{offer: "b", verdict: verdictWait},
				{offer: "c", verdict: verdictWait},
				{withdraw: "b", out: true},
				{withdraw: "b"},
				{withdraw: "a"}, // it runs
				{offer: "d", verdict: verdictWait},
				{finish: true, next: "c"},
				{finish: true, next: "d"},
			},
		},
		"what is kept has a deadline until it is taken in": {
			patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 100},
			[]round{
				{now: 5, offer: "late", deadline: 5, keep: true, verdict: refusedExpired},
				{now: 5, offer: "a", deadline: 10, keep: true, verdict: verdictRun},
				{now: 5, offer: "b", deadline: 10, keep: true, verdict: verdictWait},
				{now: 5, offer: "c", deadline: 30, verdict: verdictWait},
				{now: 11, offer: "d", deadline: 30, keep: true, verdict: refusedLength},
				{now: 30, offer: "e", deadline: 40, keep: true, expired: []string{"c"}, verdict: verdictWait},
				{now: 50, finish: true, next: "b"},
				{now: 50, finish: true, next: "e"},
			},
		},
		"draining finishes what was accepted": {
			patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 100},
			[]round{
				{offer: "a", verdict: verdictRun},
				{offer: "b", verdict: verdictWait},
				{drain: true},
				{offer: "c", verdict: refusedDraining},
				{finish: true, next: "b"},
				{finish: true},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue{limits: test.limits}
			tickets := make(map[string]*ticket)
			names := func(list []*ticket) (out []string) {
				for _, t := range list {
					for name, each := range tickets {
						if each == t {
							out = append(out, name)
						}
					}
				}
				return out
			}
			for i, r := range test.rounds {
				var expired []*ticket
				switch {
				case r.offer != "":
					tk := &ticket{size: r.size, deadline: r.deadline, keep: r.keep}
					if r.deadline == 0 {
						tk.deadline = never
					}
					tickets[r.offer] = tk
					var v verdict
					v, expired = q.offer(r.now, tk)
					require.Equal(t, r.verdict, v, "round %d", i)
				case r.finish:
					var next *ticket
					next, expired = q.finish(r.now, q.running.first, didNotRun)
					require.Equal(t, tickets[r.next], next, "round %d", i)
				case r.withdraw != "":
					require.Equal(t, r.out, q.withdraw(tickets[r.withdraw]), "round %d", i)
				case r.drain:
					q.drain()
				}
				require.Equal(t, r.expired, names(expired), "round %d", i)
			}
		})
	}
}

// simpleQueue is a second implementation: a slice that is searched from end to
// end.
type simpleQueue struct {
	limits  patterns.Limits
	waiting []*ticket
	running int
}

func (q *simpleQueue) offer(now int64, t *ticket) verdict {
	if t.deadline <= now {
		return refusedExpired
	}
	if q.running < q.limits.Concurrency {
		q.running++
		return verdictRun
	}
	for len(q.waiting) > 0 && q.waiting[0].deadline <= now {
		q.waiting = q.waiting[1:]
	}
	if q.room(t) != verdictWait {
		q.waiting = slices.DeleteFunc(q.waiting, func(t *ticket) bool { return t.deadline <= now })
	}
	v := q.room(t)
	if v == verdictWait {
		q.waiting = append(q.waiting, t)
	}
	return v
}

func (q *simpleQueue) room(t *ticket) verdict {
	bytes := t.size
	for _, each := range q.waiting {
		bytes += each.size
	}
	switch {
	case len(q.waiting) >= q.limits.QueueLength:
		return refusedLength
	case bytes > q.limits.QueueBytes:
		return refusedBytes
	}
	return verdictWait
}

func (q *simpleQueue) finish(now int64) *ticket {
	q.running--
	for len(q.waiting) > 0 {
		t := q.waiting[0]
		q.waiting = q.waiting[1:]
		if t.deadline > now {
			q.running++
			return t
		}
	}
	return nil
}

func TestQueueAgreesWithASimpleOne(t *testing.T) {
	// This property test plays random rounds on both implementations, and
	// checks that each ticket leaves once, that the counts add up, and that
	// nobody waits while there is a free place.
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		limits := patterns.Limits{
			Concurrency: 1 + random.IntN(3), QueueLength: random.IntN(5), QueueBytes: 10 + random.IntN(50),
		}
		q, simple := queue{limits: limits}, simpleQueue{limits: limits}
		gone := make(map[*ticket]bool)
		leave := func(list ...*ticket) {
			for _, tk := range list {
				require.False(t, gone[tk], "a ticket left twice")
				gone[tk] = true
			}
		}
		var all []*ticket
		for now := int64(0); now < 200; now++ {
			switch random.IntN(5) {
			case 0, 1, 2:
				tk := &ticket{size: random.IntN(20), deadline: now + int64(random.IntN(40))}
				all = append(all, tk)
				v, expired := q.offer(now, tk)
				require.Equal(t, simple.offer(now, tk), v)
				leave(expired...)
			case 3:
				if q.running.n > 0 {
					next, expired := q.finish(now, q.running.first, didNotRun)
					require.Same(t, simple.finish(now), next)
					leave(expired...)
				}
			case 4:
				if len(all) > 0 {
					tk := all[random.IntN(len(all))]
					before := len(simple.waiting)
					simple.waiting = slices.DeleteFunc(simple.waiting, func(each *ticket) bool { return each == tk })
					require.Equal(t, len(simple.waiting) < before, q.withdraw(tk))
				}
			}
			require.Equal(t, len(simple.waiting), q.waiting.n)
			require.Equal(t, simple.running, q.running.n)
			require.False(t, q.waiting.n > 0 && q.running.n < limits.Concurrency)
			bytes := 0
			for _, tk := range simple.waiting {
				bytes += tk.size
			}
			require.Equal(t, bytes, q.bytes)
		}
		leave(q.abandon()...)
		require.Zero(t, q.waiting.n)
		require.Zero(t, q.bytes)
	}
}

func TestReplaysAreRememberedUpToABound(t *testing.T) {
	// This test checks that a request is fresh once, that sender, incarnation
	// and id all count, and that the memory is bounded and forgets the oldest.
	var r replays
	fresh := func(p peer.ID, life, id uint64) bool { return r.fresh(replayKey{sealer{p, life}, id}, true) }
	require.True(t, fresh("a", 1, 1))
	require.False(t, fresh("a", 1, 1))
	require.True(t, fresh("b", 1, 1))
	require.True(t, fresh("a", 2, 1))
	for i := range uint64(3 * replayMemory) {
		require.True(t, fresh("a", 1, 2+i))
		require.False(t, fresh("a", 1, 2+i))
	}
	require.Len(t, r.seen, replayMemory)
	require.Len(t, r.oldest, replayMemory)
	require.False(t, fresh("a", 1, 2+2*replayMemory), "the oldest that is remembered")
	require.True(t, fresh("a", 1, 1+2*replayMemory), "the newest that is forgotten")
}

func TestWhatIsForgottenIsRefusedFromForwarders(t *testing.T) {
	// This test has somebody else than the sealer present requests that were
	// forgotten, or whose sealer was: they may have been handled before.
	var r replays
	others := func(p peer.ID, id uint64) bool { return r.fresh(replayKey{sealer{p, 1}, id}, false) }
	require.True(t, others("a", 1))
	require.False(t, others("a", 1))
	for i := range uint64(2 * replayMemory) {
		require.True(t, others("a", 2+i))
	}
	for _, id := range []uint64{1, 2, replayMemory, replayMemory + 1} {
		require.False(t, others("a", id), id)
	}
	for i := 0; others(peer.ID(fmt.Sprint("p", i)), 1); i++ {
		require.Less(t, i, 2*replaySealers)
	}
	require.Len(t, r.floors, replaySealers)
	require.False(t, others("p1", 1))
	require.True(t, r.fresh(replayKey{sealer{"new", 1}, 1}, true))
	require.False(t, others("newer", 1), "it may have been forgotten")
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// shop is a member in virtual time: a queue, handlers that take as long as work says, and
// callers that send and give up.
type shop struct {
	queue queue
	now   int64
	ends  endings
	work  func(now int64) int64

	ran     int
	useful  int64   // ns that handlers worked for those that were in time
	replies []int64 // when each left that was in time
	refused []int64 // how long each waited that was refused
}

// leaving is a handler that will return.
type leaving struct {
	at int64
	t  *ticket
}

type endings []leaving

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(leaving)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newShop(concurrency, length int, work func(now int64) int64) *shop {
	return &shop{queue: queue{limits: patterns.Limits{Concurrency: concurrency, QueueLength: length, QueueBytes: 1 << 40}}, work: work}
}

// arrive has a request come at that time, which must not be before the last one.
func (s *shop) arrive(at, deadline int64, k kind) {
	s.until(at)
	t := &ticket{deadline: at + deadline, kind: k, keep: k != kindRequest, size: int(at)}
	v, shed := s.queue.offer(at, t)
	s.shed(shed)
	switch v {
	case verdictRun:
		s.run(t)
	case verdictWait:
	default:
		s.refused = append(s.refused, 0)
	}
}

func (s *shop) run(t *ticket) {
	s.ran++
	heap.Push(&s.ends, leaving{s.now + s.work(s.now), t})
}

func (s *shop) shed(list []*ticket) {
	for _, t := range list {
		s.refused = append(s.refused, s.now-int64(t.size))
	}
}

// until has all happen up to that time.
func (s *shop) until(at int64) {
	for len(s.ends) > 0 && s.ends[0].at <= at {
		e := heap.Pop(&s.ends).(leaving)
		s.now = e.at
		if s.now <= e.t.deadline {
			s.replies = append(s.replies, s.now)
			s.useful += s.now - e.t.began
		}
		next, shed := s.queue.finish(s.now, e.t, true)
		s.shed(shed)
		if next != nil {
			s.run(next)
		}
	}
	s.now = at
}

// within counts replies.
func (s *shop) within(from, until time.Duration) (n int) {
	for _, at := range s.replies {
		if at > int64(from) && at <= int64(until) {
			n++
		}
	}
	return n
}

// load has requests come at a rate.
func (s *shop) load(from, until time.Duration, rate float64, deadline time.Duration, k kind) {
	for i := 0; ; i++ {
		at := int64(from) + int64(float64(i)*1e9/rate)
		if at >= int64(until) {
			s.until(int64(until))
			return
		}
		s.arrive(at, int64(deadline), k)
	}
}

// fixed is a handler that always takes that long.
func fixed(d time.Duration) func(int64) int64 { return func(int64) int64 { return int64(d) } }

// Whatever the length of the queue, what handlers take, the deadline and the load, a
// member that has more to do than it can gives as many replies as it can, but for a tenth,
// in each window.
func TestOverloadKeepsGoodput(t *testing.T) {
	const windows = 5
	random := rand.New(rand.NewPCG(1, 2))
	handlers := map[string]func(mean time.Duration) func(int64) int64{
		"fixed": fixed,
		"even": func(mean time.Duration) func(int64) int64 { // from half of the mean to half as much again
			return func(int64) int64 { return int64(mean)/2 + random.Int64N(int64(mean)) }
		},
		"exponential": func(mean time.Duration) func(int64) int64 {
			return func(int64) int64 { return int64(random.ExpFloat64() * float64(mean)) }
		},
	}
	for _, concurrency := range []int{1, 4, 64} {
		for _, length := range []int{8, 10_000} {
			for _, work := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 5 * time.Second} {
				for _, deadline := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second} {
					for _, load := range []float64{1.05, 2, 10} {
						for name, handler := range handlers {
							capacity := float64(concurrency) / work.Seconds()
							// A place is empty until somebody comes who has time enough, and what may
							// take much longer than usual is late whatever the queue does.
							idle := time.Duration(1e9 / capacity / load)
							if deadline-work < 2*idle || name == "even" && deadline < 3*work || name == "exponential" && (deadline < 10*work || concurrency < 4) {
								continue
							}
							s := newShop(concurrency, length, handler(work))
							window := max(time.Second, 20*work)
							window = min(window, time.Duration(5000/capacity/load*1e9))
							s.load(0, windows*window, capacity*load, deadline, kindRequest)
							what := fmt.Sprintf("concurrency %d, queue %d, handlers %s of %v, deadline %v, load %v", concurrency, length, name, work, deadline, load)
							require.GreaterOrEqual(t, float64(s.useful), 0.9*float64(concurrency)*float64(windows*window-work), what)
							for i := 1; i < windows && name == "fixed"; i++ {
								from := time.Duration(i) * window
								require.GreaterOrEqual(t, float64(s.within(from, from+window)), 0.9*capacity*window.Seconds()-1, "%s, window %d of %v", what, i, window)
							}
						}
					}
				}
			}
		}
	}
}

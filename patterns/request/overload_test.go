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
	waited  int64   // how long one waited at most that ran
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
	return &shop{queue: queue{limits: patterns.Limits{Concurrency: concurrency, QueueLength: length, QueueBytes: 1 << 62}}, work: work}
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
	s.waited = max(s.waited, t.began-int64(t.size))
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
		next, shed := s.queue.finish(s.now, e.t, s.now-e.t.began)
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

// warm has the queue learn what handlers take.
func (s *shop) warm() {
	for range effortMemory {
		s.arrive(s.now, int64(time.Hour), kindRequest)
		s.until(s.now + int64(10*time.Second))
	}
	s.ran, s.useful, s.replies, s.refused = 0, 0, nil, nil
}

// A burst that can be done before its deadlines is done, all of it and in order.
func TestABurstThatFitsIsServed(t *testing.T) {
	for _, burst := range []struct {
		concurrency, n int
		work, deadline time.Duration
	}{
		{1, 500, time.Millisecond, 5 * time.Second},
		{64, 500, time.Millisecond, 5 * time.Second},
		{1, 45, 100 * time.Millisecond, 5 * time.Second},
		{64, 1000, 250 * time.Millisecond, 5 * time.Second},
	} {
		s := newShop(burst.concurrency, 1024, fixed(burst.work))
		s.warm()
		for range burst.n {
			s.arrive(s.now, int64(burst.deadline), kindRequest)
		}
		s.until(s.now + int64(time.Minute))
		require.Len(t, s.replies, burst.n, burst)
	}
}

// A second after ten times the load has fallen to half of what can be done, nothing is
// refused any more and nothing waits.
func TestOverloadEndsWithTheLoad(t *testing.T) {
	for _, deadline := range []time.Duration{time.Second, 10 * time.Second} {
		s := newShop(8, 10_000, fixed(100*time.Millisecond))
		s.load(0, 20*time.Second, 800, deadline, kindRequest)
		s.load(20*time.Second, 21*time.Second, 40, deadline, kindRequest)
		s.refused = nil
		s.load(21*time.Second, 25*time.Second, 40, deadline, kindRequest)
		require.Empty(t, s.refused)
		require.Zero(t, s.queue.waiting.n)
	}
}

// Handlers that become slow, so slow that none can end in time, and quick again have the
// member do what it can within two seconds each time.
func TestHandlersThatChangeAreFollowed(t *testing.T) {
	work := time.Millisecond
	s := newShop(8, 1024, func(int64) int64 { return int64(work) })
	s.load(0, 5*time.Second, 16_000, time.Second, kindRequest)
	work = 400 * time.Millisecond
	s.load(5*time.Second, 15*time.Second, 1000, time.Second, kindRequest)
	require.GreaterOrEqual(t, s.within(7*time.Second, 15*time.Second), 144)
	work = 3 * time.Second
	s.load(15*time.Second, 30*time.Second, 1000, time.Second, kindRequest)
	before := s.ran
	s.load(30*time.Second, 60*time.Second, 1000, time.Second, kindRequest)
	require.LessOrEqual(t, s.ran-before, 31, "what is late in any case is tried now and then")
	require.Positive(t, s.ran-before)
	work = time.Millisecond
	s.load(60*time.Second, 70*time.Second, 16_000, time.Second, kindRequest)
	require.GreaterOrEqual(t, s.within(65*time.Second, 70*time.Second), 36_000)
}

// Where most handlers are quick and some are later than any deadline, the quick ones are
// served: bad luck is not taken for slowness.
func TestSlowOnesAmongQuickOnesDoNotStopTheMember(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, test := range []struct {
		concurrency int
		bar         float64
	}{{1, 0.6}, {64, 0.85}} {
		concurrency := test.concurrency
		s := newShop(concurrency, 1024, func(int64) int64 {
			if random.IntN(10) == 0 {
				return int64(2 * time.Second)
			}
			return int64(time.Millisecond)
		})
		const usual = 0.1*2 + 0.9*0.001 // seconds
		capacity := float64(concurrency) / usual
		s.load(0, 200*time.Second, 2*capacity, time.Second, kindRequest)
		require.GreaterOrEqual(t, float64(len(s.replies)), test.bar*0.9*200*capacity, concurrency)
	}
}

// A handler that never ends does not keep the member from learning that the others are
// quick again.
func TestAHandlerThatHangsDoesNotHideTheOthers(t *testing.T) {
	work := 3 * time.Second
	s := newShop(4, 1024, func(int64) int64 { return int64(work) })
	s.load(0, 20*time.Second, 100, time.Second, kindRequest)
	work = time.Hour
	s.load(20*time.Second, 22*time.Second, 100, time.Second, kindRequest)
	work = time.Millisecond
	s.load(22*time.Second, 30*time.Second, 100, time.Second, kindRequest)
	require.GreaterOrEqual(t, s.within(25*time.Second, 30*time.Second), 490)
}

// Short and long deadlines together are as good as one of them.
func TestMixedDeadlinesKeepGoodput(t *testing.T) {
	s := newShop(4, 10_000, fixed(20*time.Millisecond))
	for i := range 40 * 400 {
		deadline := 100 * time.Millisecond
		if i%2 == 0 {
			deadline = 10 * time.Second
		}
		s.arrive(int64(i)*int64(2500*time.Microsecond), int64(deadline), kindRequest)
	}
	for from := time.Second; from < 39*time.Second; from += time.Second {
		require.GreaterOrEqual(t, s.within(from, from+time.Second), 180, from)
	}
}

// What is kept begins in time if it is accepted, however long it takes.
func TestWhatIsKeptBeginsInTime(t *testing.T) {
	s := newShop(4, 10_000, fixed(10*time.Second))
	for range 4 {
		s.arrive(s.now, int64(5*time.Second), kindPush)
	}
	s.until(int64(20 * time.Second))
	s.ran = 0
	s.load(20*time.Second, 120*time.Second, 5, 5*time.Second, kindPush)
	require.LessOrEqual(t, s.waited, int64(5100*time.Millisecond))
	require.GreaterOrEqual(t, s.ran, 36, "four in ten seconds")
}

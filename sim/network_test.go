// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// work is a handler as users write them: it sleeps on a runtime timer, honours
// its context, and sometimes fails.
func work(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	if len(r.Body)%7 == 0 {
		return patterns.Message{}, errors.New("no")
	}
	return patterns.Message{Body: r.Body}, nil
}

// busy is a story with as many ties above the seam as possible: nodes send six
// requests at the same instant, from plain goroutines, with deadlines that end
// together, to small members that are busy for the same time; to a sealed, an
// open and an empty cluster; small and large.
func busy(t *testing.T, n *sim.Network) {
	const count, rounds = 25, 40
	s := newStory(t, n, count)
	s.keys = map[string][]security.KeyVersion{"sealed": {{Version: 1, Key: security.Key{1}}}}
	for i := range count {
		n.Go(name(i), func() {
			s.start(i)
			for _, cluster := range []string{"sealed", "open"} {
				if i < 3 || i >= 12 {
					continue
				}
				limits := patterns.Limits{Concurrency: 3, QueueLength: 5}
				if _, err := s.node(i).Serve(context.Background(), cluster, patterns.HandlerFunc(work), limits); err != nil {
					t.Error(err)
				}
			}
		})
	}
	faults := map[int]func(){
		10: func() { n.Crash(name(3)); s.close(3) },
		15: func() { n.Silence(name(5)); s.close(5) },
		20: func() { s.start(3); n.Pause(name(6)) },
		25: func() {
			n.Resume(name(6))
			n.Partition([]string{name(7), name(20)}, []string{name(0), name(9), name(21)})
		},
		35: func() { n.Heal() },
	}
	var requests sync.WaitGroup
	for round := range rounds {
		n.Run(2*time.Second + time.Duration(round)*100*time.Millisecond)
		if f := faults[round]; f != nil {
			f()
		}
		for i := 12; i < count; i++ {
			for k := range 6 {
				requests.Go(func() { s.burst(i, round, k) })
			}
		}
	}
	requests.Wait()
	total := 0
	for _, c := range s.outcomes {
		total += c
	}
	require.Equal(t, rounds*6*(count-12), total)
	for _, o := range []string{
		"open <nil>", "sealed <nil>", "nobody " + patterns.ErrNoMembers.Error(), "open " + patterns.ErrOverloaded.Error(),
	} {
		require.NotZero(t, s.outcomes[o], "the story must reach what it is about: %s", o)
	}
	n.Note("end", fmt.Sprint(s.node(9).Status().Drops))
}

// burst is one of the requests that node i sends in a round.
func (s *story) burst(i, round, k int) {
	cluster := []string{"sealed", "open", "nobody", "sealed", "open", "open"}[k]
	size := 10*k + round
	if k == 4 && round%10 == 0 {
		size = 100_000
	}
	var o []patterns.RequestOption
	if k%2 == 0 {
		o = append(o, patterns.Idempotent())
	}
	if k%3 == 1 {
		o = append(o, patterns.WithPolicy(patterns.Policy(round%5)), patterns.Sticky("key"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := s.node(i).Request(ctx, cluster, patterns.Message{Body: make([]byte, size)}, o...)
	outcome := fmt.Sprint(cluster, " ", err)
	s.mu.Lock()
	s.outcomes[outcome]++
	s.mu.Unlock()
	s.n.Note(name(i), outcome)
}

// This test checks that what user code does at the same instant, on the same
// node, does not leave its order to the scheduler: requests, replies,
// deadlines, refusals.
func TestBusyNodesReplay(t *testing.T) {
	for seed := uint64(18); seed < 18+*seeds/2; seed++ {
		trace := sim.Replay(t, sim.Config{Seed: seed, Latency: sim.Latency{Base: 10 * time.Millisecond}}, 2, busy)
		t.Logf("seed %d: %d events in %v, hash %016x", seed, trace.Events, trace.End, trace.Hash)
	}
}

// stuckRun says, in a test's child process, which of the stories it must run.
const stuckRun = "ARKE_SIM_STUCK"

var stuck = map[string]struct {
	watchdog time.Duration // 0 = one that does not take a busy machine for a stuck run
	says     string
	run      func(t *testing.T, n *sim.Network)
}{
	"limit": {0, "beyond Config.Limit", func(*testing.T, *sim.Network) { select {} }},
	"watchdog": {300 * time.Millisecond, "is a mutex held across a wait?", func(_ *testing.T, n *sim.Network) {
		var mu sync.Mutex
		mu.Lock()
		n.Go("waits for the mutex", mu.Lock)
		time.Sleep(time.Second)
	}},
}

// This test checks that a run that never ends does end: one in which virtual
// time goes on at its limit, one in which it does not by the watchdog, each with
// a word about the cause.
func TestStuckRunsEnd(t *testing.T) {
	if name := os.Getenv(stuckRun); name != "" {
		sim.Run(t, sim.Config{Limit: time.Minute, Watchdog: stuck[name].watchdog}, func(t *testing.T, n *sim.Network) {
			start(t, n, "a") // refreshes for ever
			start(t, n, "b").connect(start(t, n, "c"))
			stuck[name].run(t, n)
		})
		return
	}
	for name, story := range stuck {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestStuckRunsEnd$", "-test.timeout=5m")
			child.Env = append(os.Environ(), stuckRun+"="+name)
			out, err := child.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), story.says)
			require.Contains(t, string(out), "goroutine ")
		})
	}
}

// This test checks that Calm ends every fault that lasts, loss included, also
// on links that nobody has used yet, and leaves latency and bandwidth alone.
func TestCalmEndsEverything(t *testing.T) {
	cfg := narrow()
	cfg.Link = func(string, string) link.Model {
		return link.Model{Latency: 10 * time.Millisecond, Mbps: 8, Loss: 300_000}
	}
	sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		c := start(t, n, "c")
		n.CutOneWay([]string{"a"}, []string{"b"})
		n.Clog([]string{"b"}, []string{"a"}, true)
		n.Partition([]string{"a", "b"}, []string{"c"})
		n.Pause("b")
		n.Skew("a", 0, 500_000)
		n.Corrupt("a", "b")
		n.RouterFault("a", sim.RouterSlow)
		time.Sleep(100 * time.Millisecond)
		n.Calm()
		write(here, []byte("hello"))
		require.Equal(t, "hello", arrivals(t, there, time.Second))
		for range 100 {
			begin, shown := time.Now(), a.Clock.Now()
			write(there, make([]byte, 1000))
			hear(t, here, string(make([]byte, 1000)))
			about(t, 11*time.Millisecond, time.Since(begin).Round(time.Microsecond))
			require.Equal(t, time.Since(begin), a.Clock.Now().Sub(shown))
		}
		begin := time.Now()
		require.NoError(t, c.connect(b))
		about(t, 40*time.Millisecond, time.Since(begin))
		require.Equal(t, []string{"up"}, a.seen())
	})
}

// This test checks what a drift does: Now and timers of that node run faster or
// slower, those of others and what was set before do not.
func TestDrift(t *testing.T) {
	for _, ppm := range []int{1000, -1000, 200_000} {
		sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
			a, b, here, _ := two(t, n)
			fired := make(chan time.Duration, 3)
			begin := time.Now()
			arm := func(x *actor) {
				x.Clock.AfterFunc("alarm", 100*time.Second, func() { fired <- time.Since(begin) })
			}
			arm(a)
			n.Skew("a", 0, ppm)
			require.Equal(t, time.Now(), a.Clock.Now().Round(0), "it begins without a jump")
			arm(b)
			about(t, 100*time.Second, <-fired)
			about(t, 100*time.Second, <-fired)
			gained := 100 * time.Second / 1000 * time.Duration(ppm) / 1000
			about(t, gained, time.Until(a.Clock.Now().Round(0)))
			require.Equal(t, time.Now(), b.Clock.Now().Round(0))

			begin = time.Now()
			shown := a.Clock.Now()
			arm(a)
			d := <-fired
			about(t, 100*time.Second, a.Clock.Now().Sub(shown))
			require.InDelta(t, 100*1e6/float64(1_000_000+ppm), d.Seconds(), 1e-6)

			require.NoError(t, here.SetReadDeadline(a.Clock.Now().Add(10*time.Second)))
			begin, shown = time.Now(), a.Clock.Now()
			_, err := here.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			about(t, 10*time.Second, a.Clock.Now().Sub(shown))

			n.Skew("a", 0, 0)
			ahead := time.Until(a.Clock.Now().Round(0))
			time.Sleep(time.Hour / 2)
			require.Equal(t, ahead, time.Until(a.Clock.Now().Round(0)))
		})
	}
}

// This test checks that a running node's wall clock steps, by whole seconds and by parts
// of one, while its monotonic reading and its timers go on as before.
func TestWallClockSteps(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		n.Skew("a", -time.Hour, 0)
		a := start(t, n, "a")
		ahead := func(a *actor) time.Duration { return a.Clock.Now().Round(0).Sub(time.Now().Round(0)) }
		require.Equal(t, -time.Hour, ahead(a), "it starts with the clock of its machine")
		begin, shown := time.Now(), a.Clock.Now()
		fired := make(chan struct{})
		a.Clock.AfterFunc("alarm", 3*time.Second, func() { close(fired) })
		for _, step := range []time.Duration{24 * time.Hour, -8 * time.Hour, 1300 * time.Millisecond, -700 * time.Millisecond, -1, 0} {
			n.Skew("a", step, 0)
			require.Equal(t, step, ahead(a))
			require.Equal(t, time.Since(begin), a.Clock.Now().Sub(shown))
			time.Sleep(77_777 * time.Microsecond)
		}
		<-fired
		about(t, 3*time.Second, time.Since(begin))
		about(t, 3*time.Second, a.Clock.Now().Sub(shown))
	})
}

// This test checks that a tap hears each direction apart, in order, at the
// moment at which something goes out, whether it arrives or not.
func TestATapHearsWhatIsSent(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		type piece struct {
			at   time.Duration
			text string
		}
		var mu sync.Mutex // taps are called by the driver
		heard := make(map[string][]piece)
		n.Tap(func(from, to string) func(time.Duration, []byte) {
			if from == "b" {
				return nil
			}
			return func(at time.Duration, data []byte) {
				mu.Lock()
				defer mu.Unlock()
				heard[from+to] = append(heard[from+to], piece{at, string(data)})
			}
		})
		_, _, here, there := two(t, n)
		begin := n.Elapsed()
		say(t, here, "one ")
		say(t, here, "two ")
		say(t, there, "of no interest")
		n.Run(begin + 50*time.Millisecond)
		n.Silence("b")
		say(t, here, "three")
		n.Run(begin + 100*time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, heard, 1)
		require.Len(t, heard["ab"], 2)
		require.Equal(t, "one two ", heard["ab"][0].text)
		require.Equal(t, "three", heard["ab"][1].text)
		about(t, begin, heard["ab"][0].at)
		about(t, begin+50*time.Millisecond, heard["ab"][1].at)
	})
}

// This test checks that a run is the same with a tap and without.
func TestATapDoesNotChangeTheRun(t *testing.T) {
	heard := 0
	story := func(tap sim.Tap) *sim.Trace {
		return sim.Run(t, sim.Config{Seed: 5}, func(t *testing.T, n *sim.Network) {
			n.Tap(tap)
			crowd(8, 2*time.Second)(t, n)
		})
	}
	plain := story(nil)
	tapped := story(func(string, string) func(time.Duration, []byte) {
		return func(_ time.Duration, data []byte) { heard += len(data) }
	})
	require.Equal(t, plain.Hash, tapped.Hash)
	require.Positive(t, heard)
}

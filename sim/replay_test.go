// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// chatter is an actor that asks its friends at every tick and answers what it
// is asked after some work. All ticks are aligned, and so are the latencies:
// as many ties as possible.
type chatter struct {
	*actor
	friends []*chatter

	mu      sync.Mutex
	out     []overlay.Stream // guarded by mu
	answers int              // guarded by mu
	asked   uint64           // guarded by mu
}

func (c *chatter) HandleStream(s overlay.Stream) {
	go c.read(s, func(b []byte) {
		number := binary.BigEndian.Uint64(b)
		c.Exec.Go(overlay.ExecKey{Name: "work", N: number}, func() {
			time.Sleep(time.Duration(1+c.Rand.Stream("work").IntN(3)) * time.Millisecond)
			c.Exec.Wake(overlay.ExecKey{Name: "answer", N: number}, func() { write(s, b) })
		})
	})
}

// read cuts the stream in messages of 16 bytes.
func (c *chatter) read(s overlay.Stream, f func([]byte)) {
	for {
		b := make([]byte, 16)
		if _, err := io.ReadFull(s, b); err != nil {
			return
		}
		f(b)
	}
}

func (c *chatter) begin() {
	for _, f := range c.friends {
		s, err := c.Transport.Open(context.Background(), f.Transport.Self(), f.Transport.Addrs())
		if err != nil {
			continue
		}
		c.mu.Lock()
		c.out = append(c.out, s)
		c.mu.Unlock()
		go c.read(s, func(b []byte) {
			c.mu.Lock()
			c.answers++
			c.mu.Unlock()
		})
	}
	c.Clock.AfterFunc("tick", 10*time.Millisecond, c.tick)
}

func (c *chatter) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 2 {
		c.asked++
		b := binary.BigEndian.AppendUint64(nil, c.asked<<16|uint64(len(c.name)))
		b = binary.BigEndian.AppendUint64(b, c.Rand.Stream("content").Uint64())
		if len(c.out) > 0 {
			write(c.out[c.Rand.Stream("friend").IntN(len(c.out))], b)
		}
	}
	c.Clock.AfterFunc("tick", 10*time.Millisecond, c.tick)
}

// write ignores errors: the reader sees them too.
func write(s overlay.Stream, b []byte) { _, _ = s.Write(b) }

// crowd runs so many chatters, crashes one and cuts another one off.
func crowd(count int, d time.Duration) func(*testing.T, *sim.Network) {
	return func(t *testing.T, n *sim.Network) {
		all := make([]*chatter, count)
		for i := range all {
			all[i] = &chatter{actor: &actor{name: fmt.Sprint("c", i)}}
			all[i].Seam = n.Seam(all[i].name)
			plug(t, all[i].actor, all[i])
		}
		for i, c := range all {
			for _, step := range []int{1, 2, 5, 11} {
				c.friends = append(c.friends, all[(i+step)%count])
			}
			n.Go(c.name, c.begin)
		}
		n.At(d/3, "crash", func() { n.Crash("c1") })
		n.At(d/2, "cut", func() { n.Partition([]string{"c2"}, []string{"c3", "c4", "c5"}) })
		n.At(d*2/3, "heal", n.Heal)
		n.Run(d)
		for _, c := range all {
			c.mu.Lock()
			n.Note(c.name, fmt.Sprint(c.answers))
			c.mu.Unlock()
			require.NotZero(t, c.answers)
		}
		time.Sleep(time.Nanosecond)
	}
}

// This test checks the promise: with every timer and every latency aligned,
// so that each instant is full of ties, on all processors, the same seed gives
// the same trace every time, and another one another trace.
func TestRunsReplay(t *testing.T) {
	cfg := sim.Config{Seed: 1, Latency: sim.Latency{Base: 10 * time.Millisecond}}
	first := sim.Replay(t, cfg, 4, crowd(60, time.Second))
	require.Greater(t, first.Events, uint64(10_000))
	cfg.Seed = 2
	second := sim.Replay(t, cfg, 2, crowd(60, time.Second))
	require.NotEqual(t, first.Hash, second.Hash)
	require.NotEmpty(t, first.Diff(second))
}

// This test checks the same with random latencies.
func TestRunsReplayWithJitter(t *testing.T) {
	for seed := range uint64(2) {
		cfg := sim.Config{Seed: seed, Latency: sim.Latency{Base: time.Millisecond, Jitter: 5 * time.Millisecond}}
		sim.Replay(t, cfg, 2, crowd(40, time.Second))
	}
}

// This test checks that the first difference is named when runs do differ.
func TestDiffNamesTheFirstDifference(t *testing.T) {
	story := func(text string) func(t *testing.T, n *sim.Network) {
		return func(t *testing.T, n *sim.Network) {
			_, _, here, _ := two(t, n)
			time.Sleep(time.Second)
			write(here, []byte(text))
			time.Sleep(time.Second)
		}
	}
	run := func(text string, record bool) *sim.Trace {
		cfg := exact()
		cfg.Record = record
		return sim.Run(t, cfg, story(text))
	}
	a, b := run("five", true), run("six!", true)
	require.Empty(t, a.Diff(run("five", false)))
	diff := a.Diff(b)
	require.Contains(t, diff, "first difference")
	require.Contains(t, diff, " a ")
	require.Contains(t, diff, "data     b from a")
	require.Contains(t, a.Diff(run("six!", false)), "record them")
}

// BenchmarkEvents measures how many events a second the queue, the bubble and
// simple actors do together.
func BenchmarkEvents(b *testing.B) {
	for _, count := range []int{50, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			var events uint64
			for b.Loop() {
				// A bubble wants a *testing.T; nothing in crowd needs more of it.
				events += sim.Run(&testing.T{}, sim.Config{Seed: 1}, crowd(count, time.Second)).Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

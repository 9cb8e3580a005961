// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Run calls body in a bubble with a started network and returns the trace.
// body is the scenario: it makes nodes, lets virtual time pass with time.Sleep
// or Network.Run, injects faults and asserts. It closes the nodes that it
// made, best with t.Cleanup of the t that it is given; the network closes
// after that.
func Run(t *testing.T, cfg Config, body func(t *testing.T, n *Network)) *Trace {
	t.Helper()
	var trace *Trace
	var current atomic.Pointer[Network]
	stop := watch(cfg.withDefaults().Watchdog, &current)
	defer stop()
	synctest.Test(t, func(t *testing.T) {
		n := New(cfg)
		current.Store(n)
		n.Start()
		t.Cleanup(func() {
			n.Close()
			trace = n.Trace()
			if t.Failed() {
				t.Logf("sim: seed %d failed within %v and %d events", trace.Seed, trace.End, trace.Events)
			}
		})
		body(t, n)
	})
	return trace
}

// Replay runs body several times with the same Config and fails t with the
// first event at which a run differs from the first one. It returns the first
// run's trace.
func Replay(t *testing.T, cfg Config, runs int, body func(t *testing.T, n *Network)) *Trace {
	t.Helper()
	cfg.Record = true
	first := Run(t, cfg, body)
	for i := 2; i <= runs && !t.Failed(); i++ {
		again := Run(t, cfg, body)
		if diff := first.Diff(again); diff != "" {
			t.Fatalf("run %d is not a replay of run 1:\n%s", i, diff)
		}
	}
	return first
}

// watch ends the program, with all stacks, if the network's driver makes no
// step for so long in real time: then something in the bubble blocks on what
// the bubble can't see, such as a mutex held by a blocked goroutine. It runs
// outside of the bubble.
func watch(limit time.Duration, current *atomic.Pointer[Network]) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var last uint64
		for {
			select {
			case <-done:
				return
			case <-time.After(limit):
			}
			n := current.Load()
			if n == nil {
				continue
			}
			steps := n.steps.Load()
			if steps == last {
				stacks := make([]byte, 4<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				fmt.Fprintf(os.Stderr, "%s\n\n", stacks)
				panic(fmt.Sprintf("sim: no step for %v of real time; is a mutex held across a wait?", limit))
			}
			last = steps
		}
	})
	return func() { close(done); wg.Wait() }
}

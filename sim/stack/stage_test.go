// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/stack"
)

// hangs is how much real time virtual time may stand still, in a process that
// does nothing either, before a test counts as stuck: then something in the
// bubble waits for what the bubble can't see. One that works is slow, on a busy
// machine a minute and more for a second in which forty nodes shake hands.
const hangs = 100 * time.Second

// idle is how much processor time a process that does nothing takes meanwhile,
// at most.
const idle = time.Second

// stage is a stack of nodes n0, n1, …
type stage struct {
	*stack.Stack
	t       *testing.T
	network security.NetworkFile
	nodes   []play.Participant
}

// perform runs body in a bubble, with a stack of so many nodes that know the
// first one.
func perform(t *testing.T, count int, body func(t *testing.T, s *stage)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		file, err := security.GenerateNetworkFile("stage", seeded(1))
		require.NoError(t, err)
		l, err := stack.New(stack.Config{Seed: 1})
		require.NoError(t, err)
		s := &stage{Stack: l, t: t, network: file}
		defer func() { require.NoError(t, l.Close()) }()
		for range count {
			s.start(len(s.nodes))
			time.Sleep(time.Millisecond)
		}
		body(t, s)
	})
}

// bubble runs body in virtual time.
func bubble(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	// Timers of bubbles confuse the race detector if there are two Ps: Go
	// issue 78156.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	var moves atomic.Uint64
	wg.Go(func() {
		for {
			seen, worked := moves.Load(), processorTime()
			select {
			case <-stop:
				return
			case <-time.After(hangs):
			}
			if moves.Load() == seen && processorTime()-worked < idle {
				stacks := make([]byte, 8<<20)
				_, _ = os.Stderr.Write(stacks[:runtime.Stack(stacks, true)])
				panic("the bubble hangs")
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		go func() {
			for ticker := time.NewTicker(time.Second); ; {
				select {
				case <-ticker.C:
					moves.Add(1)
				case <-over:
					ticker.Stop()
					return
				}
			}
		}()
		body(t)
	})
}

// start starts node i, for the first time or again.
func (s *stage) start(i int) play.Participant {
	s.t.Helper()
	spec := play.NodeSpec{Name: fmt.Sprint("n", i), Network: s.network}
	if i > 0 {
		spec.Seeds = []string{"n0"}
	}
	p, err := s.Start(s.t.Context(), spec)
	require.NoError(s.t, err)
	if i == len(s.nodes) {
		s.nodes = append(s.nodes, p)
	}
	s.nodes[i] = p
	return p
}

// serve makes node i a member of "echo", whose reply is the node's name.
func (s *stage) serve(i int) {
	s.t.Helper()
	_, err := s.nodes[i].Serve(s.t.Context(), "echo", patterns.HandlerFunc(
		func(context.Context, *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Body: fmt.Append(nil, "n", i)}, nil
		}), patterns.Limits{})
	require.NoError(s.t, err)
}

// ask sends a request from node i and returns who answered.
func (s *stage) ask(i int, opts ...patterns.RequestOption) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	reply, err := s.nodes[i].Request(ctx, "echo", patterns.Message{}, opts...)
	return string(reply.Body), err
}

// do applies an action.
func (s *stage) do(a scenario.Action) {
	s.t.Helper()
	require.NoError(s.t, s.Apply(a))
}

// peers is how many others node i knows.
func (s *stage) peers(i int) int {
	st, err := s.nodes[i].Status(s.t.Context())
	require.NoError(s.t, err)
	return st.Peers
}

// until waits in virtual time.
func (s *stage) until(limit time.Duration, f func() bool) time.Duration {
	s.t.Helper()
	begun := s.Now()
	for !f() {
		require.Less(s.t, s.Now()-begun, limit, "it takes too long")
		time.Sleep(time.Millisecond)
	}
	return s.Now() - begun
}

func names(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("n", i))
	}
	return all
}

// live counts the members that node i can use, without that of node except.
func (s *stage) live(i, except int) int {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	members, err := s.nodes[i].Members(ctx, "echo")
	if err != nil {
		return 0
	}
	n := 0
	for _, m := range members {
		if m.State == "live" && (except < 0 || m.Peer != s.nodes[except].Peer()) {
			n++
		}
	}
	return n
}

// usable says whether node i can use the member at node j.
func (s *stage) usable(i, j int) bool { return s.live(i, -1) > s.live(i, j) }

// ready has all nodes but the first serve, and waits until all know all and
// the first uses all members.
func (s *stage) ready() {
	s.t.Helper()
	for i := 1; i < len(s.nodes); i++ {
		s.serve(i)
	}
	s.all()
	s.until(10*time.Second, func() bool { return s.live(0, -1) == len(s.nodes)-1 })
	for range 3 * len(s.nodes) {
		_, err := s.ask(0)
		require.NoError(s.t, err)
	}
}

// all waits until everybody knows everybody.
func (s *stage) all() time.Duration {
	s.t.Helper()
	return s.until(30*time.Second, func() bool {
		for i := range s.nodes {
			if s.peers(i) < len(s.nodes)-1 {
				return false
			}
		}
		return true
	})
}

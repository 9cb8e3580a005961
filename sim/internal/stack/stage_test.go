// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/internal/stack"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
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
		file, err := security.GenerateNetworkFile("stage", rand.NewChaCha8([32]byte{1}))
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
	if raced.Enabled {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
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

// processorTime is what this process has used so far, of all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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

// bothWays applies an action in both directions between some nodes and others.
func (s *stage) bothWays(do string, some, others []string) {
	s.t.Helper()
	s.do(scenario.Action{Do: do, Between: [][]string{some, others}})
	s.do(scenario.Action{Do: do, Between: [][]string{others, some}})
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

// ready is perform when all nodes but the first serve, all know all, and the first
// uses all members.
func ready(t *testing.T, count int, body func(t *testing.T, s *stage)) {
	t.Helper()
	perform(t, count, func(t *testing.T, s *stage) {
		for i := 1; i < count; i++ {
			s.serve(i)
		}
		s.all()
		s.until(10*time.Second, func() bool { return s.live(0, -1) == count-1 })
		for range 3 * count {
			_, err := s.ask(0)
			require.NoError(t, err)
		}
		body(t, s)
	})
}

// all waits until everybody knows everybody.
func (s *stage) all() time.Duration {
	s.t.Helper()
	return s.known(30*time.Second, len(s.nodes)-1)
}

// known waits until each node knows so many others.
func (s *stage) known(limit time.Duration, others int) time.Duration {
	s.t.Helper()
	return s.until(limit, func() bool {
		for i := range s.nodes {
			if s.peers(i) < others {
				return false
			}
		}
		return true
	})
}

// played plays a scenario, expanded for a seed, in a bubble.
func played(t *testing.T, s scenario.Scenario, seed uint64) (h *history.History) {
	t.Helper()
	s.Seed = seed
	s, err := s.Expand()
	require.NoError(t, err)
	bubble(t, func(t *testing.T) {
		l, err := stack.New(stack.Config{Seed: seed})
		require.NoError(t, err)
		h, err = play.Play(context.Background(), l, s, play.Options{})
		require.NoError(t, err)
	})
	return h
}

// schedule is what was done to whom, and when.
func schedule(h *history.History) []string {
	var lines []string
	for _, f := range h.Faults {
		lines = append(lines, fmt.Sprint(f.At-h.Start, " ", f.Do, " ", f.Nodes, f.Between))
	}
	return lines
}

// small is a network to which everything happens that can happen here.
const small = `
name: small
duration: 20s
nodes:
  - {name: m, count: 4}
  - {name: c, count: 2}
clusters:
  - {name: geo, members: m, handler: {kind: slow, work: 2ms, jitter: 4ms}}
links:
  - {between: [c, m], latency: 10ms, jitter: 5ms, loss: 0.5%, mbps: 50}
workload:
  - {from: c, to: geo, rate: 50, idempotent: true}
timeline:
  - {at: 1s, do: churn, nodes: m, share: 100%, for: 12s, down: 1s}
  - {at: 2s, do: pause, nodes: c1, for: 2s}
  - {at: 3s, do: skew, nodes: c2, offset: 1h, drift: 200}
  - {at: 5s, do: swizzle, between: [c, m], every: 200ms, for: 1s}
  - {at: 9s, do: clog, between: [c1, m], for: 1s}
  - {at: 10s, do: corrupt, between: [c1, m2]}
  - {at: 11s, do: degrade, between: [c, m], link: {latency: 40ms, mbps: 5}, for: 3s}
  - {at: 15s, do: silence, nodes: m1, for: 2s}
`

func TestTheScheduleRepeats(t *testing.T) {
	// This test plays one scenario three times: with the same seed the same is
	// done to the same nodes at the same times, with another one it is not.
	// What follows from it need not repeat, but no checker may object.
	s, err := scenario.Parse("small.yaml", []byte(small))
	require.NoError(t, err)
	first, again, other := played(t, s, 1), played(t, s, 1), played(t, s, 2)
	require.NotEmpty(t, schedule(first))
	require.Equal(t, schedule(first), schedule(again))
	require.NotEqual(t, schedule(first), schedule(other))
	for i := range first.Nodes {
		require.Equal(t, first.Nodes[i].Peer, again.Nodes[i].Peer)
	}
	for _, h := range []*history.History{first, again, other} {
		v := check.Judge(h, check.LevelRules("stack"))
		require.Empty(t, v.Violations)
		require.Greater(t, len(h.Requests), 500)
	}
}

// closest sorts peers by their distance to a point; written again here, so
// that the real tables are compared with something else than themselves.
func closest(target [32]byte, peers []peer.ID) []peer.ID {
	distance := func(p peer.ID) []byte {
		at := sha256.Sum256([]byte(p))
		for i := range at {
			at[i] ^= target[i]
		}
		return at[:]
	}
	sorted := slices.Clone(peers)
	slices.SortFunc(sorted, func(a, b peer.ID) int { return bytes.Compare(distance(a), distance(b)) })
	return sorted
}

// converged says what is missing for the tables of some nodes to be those of a
// network of exactly these nodes: each knows its own neighbourhood and no
// strangers, and all give the same answers, the right ones.
func converged(nodes []play.Participant) error {
	var all []peer.ID
	for _, n := range nodes {
		id, err := peer.Decode(n.Peer())
		if err != nil {
			return err
		}
		all = append(all, id)
	}
	for i, n := range nodes {
		table := stack.Table(n)
		for _, p := range table {
			if !slices.Contains(all, p) {
				return fmt.Errorf("node %d of %d knows a stranger", i, len(nodes))
			}
		}
		near := closest(sha256.Sum256([]byte(all[i])), all)[1:9]
		for _, p := range near {
			if !slices.Contains(table, p) {
				return fmt.Errorf("node %d of %d does not know its neighbour", i, len(nodes))
			}
		}
	}
	for k := range byte(4) {
		key := overlay.Key{k}
		want := closest(sha256.Sum256(key[:]), all)[:3]
		for i, n := range nodes {
			if got := stack.Closest(n, key, 3); !slices.Equal(got, want) {
				return fmt.Errorf("node %d of %d finds others for key %d", i, len(nodes), k)
			}
		}
	}
	return nil
}

// converge waits until the tables of all nodes are converged.
func (s *stage) converge(limit time.Duration) {
	s.t.Helper()
	begun := s.Now()
	for {
		err := converged(s.nodes)
		if err == nil {
			return
		}
		require.Less(s.t, s.Now()-begun, limit, err.Error())
		time.Sleep(100 * time.Millisecond)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

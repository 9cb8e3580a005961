// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

var seeds = flag.Uint64("seeds", 3, "how many seeds TestFiftyNodesReplay runs")

// story is a network of real nodes; n0 is the seed of all.
type story struct {
	t     *testing.T
	n     *sim.Network
	keys  map[string][]security.KeyVersion // of clusters, which every node holds
	all   *simnet.Nodes
	nodes []*node.Node

	mu       sync.Mutex
	outcomes map[string]int // guarded by mu; requests
	handled  map[string]int // guarded by mu; by request
	retried  int            // guarded by mu; requests that took several attempts
	returned int            // guarded by mu; requests that a restarted node has handled
}

const service = "echo"

func newStory(t *testing.T, n *sim.Network, count int) *story {
	return &story{
		t: t, n: n, all: simnet.New(t, n, "story"), nodes: make([]*node.Node, count),
		outcomes: make(map[string]int), handled: make(map[string]int),
	}
}

func name(i int) string { return fmt.Sprint("n", i) }

// start starts a node, or starts it again.
func (s *story) start(i int) {
	started := s.all.Start(name(i), func(c *node.Config) { c.ClusterKeys = s.keys })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[i] = started
}

// startAll starts the seed, and has all others start at once; n1 and those behind
// it, so many, serve.
func (s *story) startAll(members int) {
	s.start(0)
	for i := 1; i < len(s.nodes); i++ {
		s.n.Go(name(i), func() {
			s.start(i)
			if i <= members {
				s.serve(i)
			}
		})
	}
}

// node is node i as it was started last; nil if it was not.
func (s *story) node(i int) *node.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i]
}

func (s *story) close(i int) { require.NoError(s.t, s.node(i).Close()) }

// serve makes node i a member. Its handler works for a while, as user code
// does: with time.Sleep.
func (s *story) serve(i int) {
	work := time.Duration(1+i%7) * time.Millisecond
	restarted := s.n.Incarnation(name(i)) > 1
	h := patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		s.mu.Lock()
		s.handled[string(r.Body)]++
		if restarted {
			s.returned++
		}
		s.mu.Unlock()
		time.Sleep(work)
		return patterns.Message{Body: r.Body}, nil
	})
	if _, err := s.node(i).Serve(context.Background(), service, h, patterns.Limits{}); err != nil {
		s.t.Errorf("node %d can't serve: %v", i, err)
	}
}

// call has node i send so many idempotent requests, one each 50 ms, without
// waiting for the replies.
func (s *story) call(i, requests int) {
	var wg sync.WaitGroup
	for r := range requests {
		wg.Go(func() { s.request(i, r) })
		time.Sleep(50 * time.Millisecond)
	}
	wg.Wait()
}

func (s *story) request(i, r int) {
	body := binary.BigEndian.AppendUint32(nil, uint32(i))
	body = binary.BigEndian.AppendUint32(body, uint32(r))
	var how patterns.RequestReport
	answer, err := s.node(i).Request(context.Background(), service, patterns.Message{Body: body}, patterns.Idempotent(), patterns.Report(&how))
	outcome := "reply"
	switch {
	case err != nil:
		outcome = err.Error()
	case !bytes.Equal(body, answer.Body):
		outcome = "wrong reply"
	}
	s.mu.Lock()
	s.outcomes[outcome]++
	if how.Attempts > 1 {
		s.retried++
	}
	s.mu.Unlock()
	s.n.Note(name(i), fmt.Sprintf("request %d: %s by %s after %d attempts", r, outcome, how.Member, how.Attempts))
}

// fifty is the story of the first issue: fifty nodes join through a seed, some
// serve, others call; members crash, fall silent, pause, are cut off, leave
// and come back, while the calls go on.
func fifty(t *testing.T, n *sim.Network) {
	const count, members, callers, requests = 50, 10, 20, 75
	s := newStory(t, n, count)
	s.startAll(members)
	n.Run(2 * time.Second)

	var calls sync.WaitGroup
	for i := count - callers; i < count; i++ {
		calls.Add(1)
		n.Go("calls of "+name(i), func() {
			defer calls.Done()
			s.call(i, requests)
		})
	}
	n.Run(2500 * time.Millisecond)
	for _, i := range []int{1, 2, 15} { // two members and a bystander
		n.Crash(name(i))
		s.close(i)
	}
	n.Run(3 * time.Second)
	n.Silence(name(3))
	s.close(3)
	n.Pause(name(4))
	n.Run(4 * time.Second)
	n.Resume(name(4))
	s.start(1)
	s.serve(1)
	n.Partition([]string{name(5), name(16)}, []string{name(0), name(6), name(30), name(31), name(32)})
	n.Run(5 * time.Second)
	n.Heal()
	require.NoError(t, s.node(6).Shutdown(context.Background()))
	calls.Wait()

	// An attempt that was given up may still be in its handler.
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, map[string]int{"reply": callers * requests}, s.outcomes, "each request has its one outcome")
	require.Len(t, s.handled, callers*requests)
	require.NotZero(t, s.retried, "the story must reach what it is about")
	require.NotZero(t, s.returned)
}

// This test checks that a design that can't replay is noticed: the story of
// fifty real nodes, with everything above the seam as in production, gives the
// same trace twice, for several seeds; other seeds give other traces. If not,
// the first event that differs is printed.
func TestFiftyNodesReplay(t *testing.T) {
	seen := make(map[uint64]bool)
	for seed := uint64(1); seed <= *seeds; seed++ {
		trace := sim.Replay(t, sim.Config{Seed: seed}, 2, fifty)
		t.Logf("seed %d: %d events in %v, hash %016x", seed, trace.Events, trace.End, trace.Hash)
		require.False(t, seen[trace.Hash])
		seen[trace.Hash] = true
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// stage is a simulated network of nodes n0, n1, … of which all but the first
// serve "echo". Everything happens in virtual time.
type stage struct {
	*simnet.Nodes
	t     *testing.T
	n     *sim.Network
	nodes []*node.Node

	mu      sync.Mutex
	handled map[string]int // by request
	slowest time.Duration  // of all requests
	errs    []error
	by      map[int]int // replies by node
}

func newStage(t *testing.T, n *sim.Network, count int) *stage {
	s := &stage{Nodes: simnet.New(t, n, "stage"), t: t, n: n, handled: make(map[string]int), by: make(map[int]int)}
	for i := range count {
		s.nodes = append(s.nodes, s.start(i))
	}
	for i := 1; i < count; i++ {
		s.serve(i)
	}
	return s
}

func (s *stage) start(i int) *node.Node { return s.Start(fmt.Sprint("n", i)) }

func (s *stage) serve(i int) {
	_, err := s.nodes[i].Serve(context.Background(), "echo", patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		s.mu.Lock()
		s.handled[string(r.Body)]++
		s.by[i]++
		s.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		return patterns.Message{Body: r.Body}, nil
	}), patterns.Limits{})
	require.NoError(s.t, err)
}

// load sends so many requests from the first node, one each 5 ms, and waits
// for their outcomes.
func (s *stage) load(count int, opts ...patterns.RequestOption) {
	var wg sync.WaitGroup
	for i := range count {
		wg.Add(1)
		s.n.Go(fmt.Sprint("request ", i), func() {
			defer wg.Done()
			begin := time.Now()
			body := fmt.Sprint(i)
			reply, err := s.nodes[0].Request(context.Background(), "echo", patterns.Message{Body: []byte(body)}, opts...)
			if err == nil && string(reply.Body) != body {
				err = fmt.Errorf("the reply to %s is %s", body, reply.Body)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slowest = max(s.slowest, time.Since(begin))
			if err != nil {
				s.errs = append(s.errs, err)
			}
		})
		time.Sleep(5 * time.Millisecond)
	}
	wg.Wait()
}

func TestAHungNodeHoldsUpIdempotentRequestsUntilItIsSuspect(t *testing.T) {
	// This test freezes one of three members' nodes under load: its requests
	// are sent elsewhere once three heartbeats are missed, nobody is lost, and
	// when it thaws it is used again. Twice, with the same trace.
	sim.Replay(t, sim.Config{Seed: 1}, 2, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n, 4)
		var atThaw int
		n.At(n.Elapsed()+time.Second, "freeze", func() { n.Pause("n2") })
		n.At(n.Elapsed()+6*time.Second, "thaw", func() {
			s.mu.Lock()
			atThaw = s.by[2]
			s.mu.Unlock()
			n.Resume("n2")
		})
		s.load(2000, patterns.Idempotent())
		require.Empty(t, s.errs)
		require.Less(t, s.slowest, 1700*time.Millisecond)
		require.Greater(t, s.by[2], atThaw, "it is back")
		n.Note("outcome", fmt.Sprint(s.slowest, s.by))
	})
}

func TestACrashedNodeCostsIdempotentRequestsARoundTrip(t *testing.T) {
	// This test crashes one of three members' nodes under load: whatever was
	// there is sent elsewhere at once.
	sim.Replay(t, sim.Config{Seed: 2}, 2, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n, 4)
		n.At(n.Elapsed()+time.Second, "crash", func() {
			n.Crash("n2")
			s.nodes[2].Close()
		})
		s.load(400, patterns.Idempotent())
		require.Empty(t, s.errs)
		require.Less(t, s.slowest, 100*time.Millisecond)
	})
}

func TestACrashedNodeInterruptsWhatIsNotIdempotent(t *testing.T) {
	// This test crashes a node under load that may not be repeated: no request
	// is handled twice, and whoever got no reply was told that it may have run.
	sim.Replay(t, sim.Config{Seed: 3}, 2, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n, 4)
		n.At(n.Elapsed()+time.Second, "crash", func() {
			n.Crash("n2")
			s.nodes[2].Close()
		})
		s.load(400)
		require.NotEmpty(t, s.errs)
		require.Less(t, len(s.errs), 10)
		for _, err := range s.errs {
			require.ErrorIs(t, err, patterns.ErrInterrupted)
		}
		for request, times := range s.handled {
			require.Equal(t, 1, times, request)
		}
	})
}

// This test has a node serve in the very moment in which it starts: when it is
// told that it is a member, somebody who is asked by others knows, so nobody
// is told that there is none.
func TestAMemberThatIsAcknowledgedIsKnown(t *testing.T) {
	sim.Run(t, sim.Config{}, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n, 0)
		for i := range 3 {
			s.nodes = append(s.nodes, s.start(i))
			if i < 2 {
				time.Sleep(3 * time.Second)
			}
		}
		_, err := s.nodes[0].Request(t.Context(), "echo", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrNoMembers)

		begin := time.Now()
		s.serve(2)
		t.Logf("acknowledged after %v", time.Since(begin))
		require.Less(t, time.Since(begin), 300*time.Millisecond)
		for _, caller := range s.nodes[:2] {
			_, err := caller.Request(t.Context(), "echo", patterns.Message{Body: []byte("now")})
			require.NoError(t, err)
		}
	})
}

// This test starts a node that nobody joins: it is its own anchor, but not
// before it can know that it is alone.
func TestANodeAloneBelievesItselfAfterAWhile(t *testing.T) {
	sim.Run(t, sim.Config{}, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n, 0)
		s.nodes = append(s.nodes, s.start(0))
		begin := time.Now()
		s.serve(0)
		require.InDelta(t, 1.5, time.Since(begin).Seconds(), 0.1)
		begin = time.Now()
		_, err := s.nodes[0].Serve(t.Context(), "another", patterns.HandlerFunc(nil), patterns.Limits{})
		require.NoError(t, err)
		require.Less(t, time.Since(begin), 10*time.Millisecond)
	})
}

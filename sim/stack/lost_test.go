// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/scenario"
)

func TestACrashIsSeenInMilliseconds(t *testing.T) {
	// This test checks that the reset of a killed node's connections gets to
	// its callers one latency later, and that the node can come back.
	perform(t, 6, func(t *testing.T, s *stage) {
		s.ready()
		s.do(scenario.Action{Do: "crash", Nodes: []string{"n2"}})
		took := s.until(time.Second, func() bool { return !s.usable(0, 2) && s.peers(0) == 4 })
		require.Less(t, took, 20*time.Millisecond)
		t.Log("seen after", took)
		require.NoError(t, s.nodes[2].Close())
		for range 20 {
			_, err := s.ask(0)
			require.NoError(t, err)
		}
		s.start(2)
		s.serve(2)
		t.Log("back after", s.until(5*time.Second, func() bool { return s.usable(0, 2) }))
	})
}

func TestSilenceIsSeenWithinThreeBeats(t *testing.T) {
	// This test checks that a node which vanishes without a word is out of use
	// after three missed beats, and that requests get around it.
	perform(t, 6, func(t *testing.T, s *stage) {
		s.ready()
		s.do(scenario.Action{Do: "silence", Nodes: []string{"n2"}})
		require.NoError(t, s.nodes[2].Close())
		asked := make(chan error)
		go func() {
			var first error
			for range 150 {
				if _, err := s.ask(0, patterns.Idempotent()); err != nil && first == nil {
					first = err
				}
				time.Sleep(10 * time.Millisecond)
			}
			asked <- first
		}()
		took := s.until(3*time.Second, func() bool { return !s.usable(0, 2) })
		require.Less(t, took, 1500*time.Millisecond)
		require.Greater(t, took, 500*time.Millisecond, "nothing may tell")
		t.Log("seen after", took)
		require.NoError(t, <-asked)
		s.start(2)
		s.serve(2)
		t.Log("back after", s.until(15*time.Second, func() bool { return s.usable(0, 2) }))
	})
}

func TestAPausedNodeIsBackWhenItGoesOn(t *testing.T) {
	// This test checks that a node whose process stands still is out of use
	// after three beats, keeps its connections, and is back at once.
	perform(t, 6, func(t *testing.T, s *stage) {
		s.ready()
		s.do(scenario.Action{Do: "pause", Nodes: []string{"n2"}})
		took := s.until(3*time.Second, func() bool { return !s.usable(0, 2) })
		require.Less(t, took, 1700*time.Millisecond)
		time.Sleep(2 * time.Second)
		require.Equal(t, 5, s.peers(0), "the connection stands")
		s.do(scenario.Action{Do: "resume", Nodes: []string{"n2"}})
		require.Less(t, s.until(3*time.Second, func() bool { return s.usable(0, 2) }), 500*time.Millisecond)
	})
}

func TestACorruptByteCostsTheConnection(t *testing.T) {
	// This test checks that TLS notices a flipped bit, that both ends lose the
	// connection, and that the nodes connect again.
	perform(t, 4, func(t *testing.T, s *stage) {
		s.ready()
		s.do(scenario.Action{Do: "corrupt", Between: [][]string{{"n0"}, {"n2"}}})
		s.until(2*time.Second, func() bool { return s.peers(0) == 2 })
		s.until(2*time.Second, func() bool { return s.peers(2) == 2 })
		t.Log("connected again after", s.all())
		s.until(5*time.Second, func() bool { return s.usable(0, 2) })
	})
}

func TestAStoppedNodeLeavesInOrder(t *testing.T) {
	// This test checks that a graceful end costs its callers nothing.
	perform(t, 5, func(t *testing.T, s *stage) {
		s.ready()
		done := make(chan error)
		go func() {
			p := s.nodes[2]
			ctx, cancel := p.Within(10 * time.Second)
			defer cancel()
			done <- p.Shutdown(ctx)
		}()
		for range 100 {
			_, err := s.ask(0)
			require.NoError(t, err)
		}
		require.NoError(t, <-done)
		s.do(scenario.Action{Do: "stop", Nodes: []string{"n2"}})
		require.False(t, s.usable(0, 2))
	})
}

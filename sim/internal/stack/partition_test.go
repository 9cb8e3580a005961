// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/internal/stack"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

func TestTwoConvergedHalvesFindEachOtherAgain(t *testing.T) {
	// This test cuts a network of forty into two halves, for so long that all
	// connections between them die, which takes 25 s, or for so long that the
	// halves are converged too. It checks that after the heal there is one network
	// again: each node knows its neighbours on both sides, all give the same
	// answers, and requests cross.
	for _, apart := range []time.Duration{30 * time.Second, time.Minute} {
		t.Run(apart.String(), func(t *testing.T) { testHalves(t, apart) })
	}
}

func testHalves(t *testing.T, apart time.Duration) {
	perform(t, 40, func(t *testing.T, s *stage) {
		s.serve(1)
		s.serve(30)
		halves := [][]play.Participant{s.nodes[:20], s.nodes[20:]}
		both := func() bool { return s.live(0, -1) == 2 && s.live(35, -1) == 2 }
		s.converge(30 * time.Second)
		s.until(10*time.Second, both)

		one, other := names(0, 20), names(20, 40)
		s.bothWays("cut", one, other)
		cut := s.Now()
		s.Sleep(cut + apart)
		for i, half := range halves {
			if apart >= time.Minute { // by then the holes in the tables are filled, too
				require.NoError(t, converged(half), "half %d is a network of its own", i)
			}
		}
		for _, i := range []int{0, 35} {
			require.Equal(t, 1, s.live(i, -1))
			_, err := s.ask(i, patterns.Idempotent())
			require.NoError(t, err, "each half serves itself")
		}

		s.bothWays("mend", one, other)
		mended := s.Now()
		s.until(15*time.Second, both)
		t.Log("all members are seen after", s.Now()-mended)
		s.converge(20 * time.Second)
		t.Log("the tables are one after", s.Now()-mended)
		for _, half := range halves {
			for _, n := range half {
				table := stack.Table(n)
				require.Greater(t, len(table), 24, "it knows more than its half")
			}
		}
		seen := map[string]bool{}
		for range 50 {
			for _, i := range []int{0, 35} {
				who, err := s.ask(i)
				require.NoError(t, err)
				seen[who+fmt.Sprint(" to ", i)] = true
			}
		}
		require.Len(t, seen, 4, "requests cross")
	})
}

func TestAOneWayCutIsNoticedByBoth(t *testing.T) {
	// This test lets nothing through in one direction only.
	ready(t, 5, func(t *testing.T, s *stage) {
		s.do(scenario.Action{Do: "cut", Between: [][]string{{"n2"}, {"n0"}}})
		require.Less(t, s.until(5*time.Second, func() bool { return !s.usable(0, 2) }), 1700*time.Millisecond)
		s.until(2*time.Minute, func() bool { return s.peers(2) == 3 && s.peers(0) == 3 })
		s.do(scenario.Action{Do: "heal"})
		s.all()
		s.until(5*time.Second, func() bool { return s.usable(0, 2) })
	})
}

func TestACloggedLinkBreaksNothing(t *testing.T) {
	// This test holds everything between two nodes for a while: their
	// connection survives it, and goes on at once.
	ready(t, 4, func(t *testing.T, s *stage) {
		s.bothWays("clog", []string{"n0"}, []string{"n2"})
		s.until(3*time.Second, func() bool { return !s.usable(0, 2) })
		time.Sleep(time.Second)
		require.Equal(t, 3, s.peers(0))
		s.bothWays("unclog", []string{"n0"}, []string{"n2"})
		require.Less(t, s.until(3*time.Second, func() bool { return s.usable(0, 2) }), 500*time.Millisecond)
		require.Equal(t, 3, s.peers(0))
	})
}

func TestACrashIsSeenInMilliseconds(t *testing.T) {
	// This test checks that the reset of a killed node's connections gets to
	// its callers one latency later, and that the node can come back.
	ready(t, 6, func(t *testing.T, s *stage) {
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
	ready(t, 6, func(t *testing.T, s *stage) {
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
	ready(t, 6, func(t *testing.T, s *stage) {
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
	ready(t, 4, func(t *testing.T, s *stage) {
		s.do(scenario.Action{Do: "corrupt", Between: [][]string{{"n0"}, {"n2"}}})
		s.until(2*time.Second, func() bool { return s.peers(0) == 2 })
		s.until(2*time.Second, func() bool { return s.peers(2) == 2 })
		t.Log("connected again after", s.all())
		s.until(5*time.Second, func() bool { return s.usable(0, 2) })
	})
}

func TestAStoppedNodeLeavesInOrder(t *testing.T) {
	// This test checks that a graceful end costs its callers nothing.
	ready(t, 5, func(t *testing.T, s *stage) {
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

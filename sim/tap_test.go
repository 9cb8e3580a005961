// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

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
		say := func(text string) {
			_, err := here.Write([]byte(text))
			require.NoError(t, err)
		}
		say("one ")
		say("two ")
		_, err := there.Write([]byte("of no interest"))
		require.NoError(t, err)
		n.Run(begin + 50*time.Millisecond)
		n.Silence("b")
		say("three")
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

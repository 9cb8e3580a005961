// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

// race is a program that breaks the rules: one event wakes two goroutines, and each notes
// which number it was the one to draw.
func race(t *testing.T, n *sim.Network) {
	numbers := n.Seam("a").Rand.Stream("numbers")
	for i := range 200 {
		ready := make(chan struct{})
		var both sync.WaitGroup
		for _, who := range []string{"one", "other"} {
			both.Go(func() {
				<-ready
				n.Note(who, fmt.Sprint(numbers.Uint64()))
			})
		}
		n.At(time.Duration(i)*time.Millisecond, "both", func() { close(ready) })
		both.Wait()
	}
	time.Sleep(time.Millisecond)
}

func TestAShakenRunShowsWhatDoesNotReplay(t *testing.T) {
	// This test shakes a program whose goroutines race, which shows at once, and one whose
	// goroutines do not, which is the same as ever.
	cfg := sim.Config{Seed: 1, Record: true}
	shaken := cfg
	shaken.Shake = true
	require.Contains(t, sim.Run(t, cfg, race).Diff(sim.Run(t, shaken, race)), "first difference")
	fine := crowd(20, time.Second)
	require.Empty(t, sim.Run(t, cfg, fine).Diff(sim.Run(t, shaken, fine)))
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestNothingBeginsOnceAGateIsShut(t *testing.T) {
	// This test shuts a gate while something runs: that may end, nothing else begins,
	// and Close waits for it.
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		end := make(chan struct{})
		require.True(t, g.Enter())
		require.True(t, g.Spawn(func() { <-end }))
		g.Shut()
		require.False(t, g.Enter())
		require.False(t, g.Spawn(func() { panic("it ran") }))

		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		for _, leave := range []func(){g.Leave, func() { close(end) }} {
			synctest.Wait()
			select {
			case <-closed:
				require.Fail(t, "Close does not wait for what runs")
			default:
			}
			leave()
		}
		<-closed
		g.Close() // again: nothing is left
	})
}

func TestEnteringDoesNotRaceWithClosing(t *testing.T) {
	// This test enters from many goroutines while the gate closes: whoever came in was
	// waited for. The race detector watches.
	for range 200 {
		var g Gate
		var inside atomic.Int32
		begun := make(chan struct{})
		for range 4 {
			go func() {
				<-begun
				for g.Enter() {
					inside.Add(1)
					inside.Add(-1)
					g.Leave()
				}
			}()
		}
		close(begun)
		g.Spawn(func() { inside.Add(1); inside.Add(-1) })
		g.Close()
		require.Zero(t, inside.Load())
	}
}

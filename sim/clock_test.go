// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

// This test checks what a drift does: Now and timers of that node run faster or
// slower, those of others and what was set before do not.
func TestDrift(t *testing.T) {
	for _, ppm := range []int{1000, -1000, 200_000} {
		sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
			a, b, here, _ := two(t, n)
			fired := make(chan time.Duration, 3)
			begin := time.Now()
			arm := func(x *actor) {
				x.Clock.AfterFunc("alarm", 100*time.Second, func() { fired <- time.Since(begin) })
			}
			arm(a)
			n.Skew("a", 0, ppm)
			require.Equal(t, time.Now(), a.Clock.Now(), "it begins without a jump")
			arm(b)
			about(t, 100*time.Second, <-fired)
			about(t, 100*time.Second, <-fired)
			gained := 100 * time.Second / 1000 * time.Duration(ppm) / 1000
			about(t, gained, time.Until(a.Clock.Now()))
			require.Equal(t, time.Now(), b.Clock.Now())

			begin = time.Now()
			shown := a.Clock.Now()
			arm(a)
			d := <-fired
			about(t, 100*time.Second, a.Clock.Now().Sub(shown))
			require.InDelta(t, 100*1e6/float64(1_000_000+ppm), d.Seconds(), 1e-6)

			require.NoError(t, here.SetReadDeadline(a.Clock.Now().Add(10*time.Second)))
			begin, shown = time.Now(), a.Clock.Now()
			_, err := here.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			about(t, 10*time.Second, a.Clock.Now().Sub(shown))

			n.Skew("a", 0, 0)
			ahead := time.Until(a.Clock.Now())
			time.Sleep(time.Hour / 2)
			require.Equal(t, ahead, time.Until(a.Clock.Now()))
		})
	}
}

// This test checks that a step of the wall clock is no jump for who measures,
// and shows when the node starts again.
func TestWallClockSteps(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		n.Skew("a", -time.Hour, 0)
		a := start(t, n, "a")
		require.Equal(t, time.Now().Add(-time.Hour), a.Clock.Now())
		fired := make(chan struct{})
		begin, shown := time.Now(), a.Clock.Now()
		a.Clock.AfterFunc("alarm", 3*time.Second, func() { close(fired) })
		n.Skew("a", 24*time.Hour, 0)
		<-fired
		about(t, 3*time.Second, time.Since(begin))
		about(t, 3*time.Second, a.Clock.Now().Sub(shown))
		n.Crash("a")
		require.Equal(t, time.Now().Add(24*time.Hour), start(t, n, "a").Clock.Now())
	})
}

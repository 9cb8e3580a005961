// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/relay/client"
)

// TestClientsThatLoseTheirRelayTogetherComeBackOneByOne proves that the clients of a
// relay that dies do not all ask for the next one at the same moment, neither at first
// nor when nobody listened and they ask again.
func TestClientsThatLoseTheirRelayTogetherComeBackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead atomic.Bool
		desks, dialers := make([]*desk, 64), make([]dialer, 64)
		for i := range desks {
			desks[i] = newDesk(t)
			dialers[i] = dialer{desk: desks[i], dead: &dead}
			workers := overlay.NewWorkers(1)
			t.Cleanup(func() { workers.Close() })
			desks[i].client(func(cfg *client.Config) {
				cfg.Seam = &client.Seam{
					Clock: overlay.NewRealClock(), Rand: overlay.NewRealRand(), Exec: workers, Dial: dialers[i].dial,
				}
			})
		}
		dead.Store(true)
		died := time.Now()
		for _, d := range desks {
			d.stop()
		}
		time.Sleep(time.Second)
		dead.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()

		var first, second []time.Duration
		for i, d := range desks {
			require.True(t, d.session().Attached(), "each comes back")
			again := dialers[i].times[1:] // without that of Start
			first = append(first, again[0].Sub(died))
			second = append(second, again[1].Sub(again[0]))
		}
		requireApart(t, first)
		requireApart(t, second)
	})
}

// requireApart requires that in no millisecond more than half of all happens.
func requireApart(t *testing.T, times []time.Duration) {
	t.Helper()
	within := make(map[time.Duration]int)
	for _, at := range times {
		within[at.Truncate(time.Millisecond)]++
	}
	for ms, n := range within {
		require.LessOrEqual(t, n, len(times)/2, "after %v", ms)
	}
}

// dialer connects one client to its desk while the relay lives, and notes when.
type dialer struct {
	desk  *desk
	dead  *atomic.Bool
	times []time.Time // owned by who dials, one at a time
}

func (d *dialer) dial(context.Context) (net.Conn, error) {
	d.times = append(d.times, time.Now())
	if d.dead.Load() {
		return nil, syscall.ECONNREFUSED
	}
	ours, theirs := net.Pipe()
	d.desk.wg.Go(func() { d.desk.serve(theirs) })
	return ours, nil
}

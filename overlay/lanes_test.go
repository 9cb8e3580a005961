// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// This test goes one message over the bound of each lane: the named error, and
// the counter of that lane only; the other lanes have room of their own.
func TestOneMessageMoreThanALaneTakesIsCounted(t *testing.T) {
	for lane, reason := range map[overlay.Lane]string{
		overlay.LaneCtl: "lane_full_ctl", overlay.LaneRPC: "lane_full_rpc",
		overlay.LanePub: "lane_full_pub", overlay.LaneBulk: "lane_full_bulk",
	} {
		t.Run(lane.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := newMemNet()
				a, b := startNode(t, net, low, func(c *overlay.Config) { c.LaneBytes[lane] = 1000 }), startNode(t, net, high)
				l := a.wait(high)
				synctest.Wait()
				a.transport.open()[0].out.freeze()
				body := make([]byte, 300)
				took := 0
				var err error
				for ; took < 10; took++ {
					_, err = l.Send(lane, kindA, body)
					synctest.Wait()
					if err != nil {
						break
					}
				}
				require.ErrorIs(t, err, overlay.ErrLaneFull)
				require.GreaterOrEqual(t, took, 3)
				require.Equal(t, map[string]uint64{reason: 1}, a.Drops())
				for other := range overlay.LaneBulk + 1 {
					if other != lane {
						_, err := l.Send(other, kindA, body)
						require.NoError(t, err)
					}
				}
				require.NoError(t, a.Close())
				require.NoError(t, b.Close())
			})
		})
	}
}

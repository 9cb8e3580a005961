// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// This test sends one byte more than this node may send, and than the peer may
// receive: the named error for one, the peer's counter for the other; what fits
// arrives before and after.
func TestOneByteMoreThanAMessageMayHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bound := func(n int) func(*overlay.Config) {
			return func(c *overlay.Config) { c.MaxMessage = n }
		}
		net := newMemNet()
		a, b := startNode(t, net, low, bound(300_000)), startNode(t, net, high, bound(200_000))
		l := a.wait(high)
		for _, n := range []int{200_000, 300_001, 200_001, 200_000} {
			_, err := l.Send(overlay.LaneRPC, kindA, make([]byte, n))
			if n > 300_000 {
				require.ErrorIs(t, err, overlay.ErrTooLarge)
				_, err = l.SendWait(t.Context(), overlay.LaneRPC, kindA, make([]byte, n))
				require.ErrorIs(t, err, overlay.ErrTooLarge)
			} else {
				require.NoError(t, err)
			}
			synctest.Wait()
		}
		require.Len(t, b.bodies(), 2)
		require.Empty(t, a.Drops(), "who sends counts what he does not send")
		require.EqualValues(t, 1, b.Drops()["message_too_large"])
	})
}

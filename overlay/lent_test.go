// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// TestWhatAHandlerKeepsStaysAsItIs proves that a handler which keeps some
// messages and not others, small ones and such as come in fragments, has those
// that it keeps for itself.
func TestWhatAHandlerKeepsStaysAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 250
		net := newMemNet()
		a, b := startNode(t, net, low), newNode(t, net, high)
		var kept [][]byte
		b.HandleLent(wire.KindCancel, func(_ *overlay.Link, body []byte) bool {
			keep := body[0]%3 == 0
			if keep {
				kept = append(kept, body)
			}
			return keep
		})
		b.start()
		l := a.wait(high)
		sizes := []int{100, 3000, 60_000, 100_000}
		for i := range count {
			body := bytes.Repeat([]byte{byte(i)}, sizes[i%len(sizes)])
			_, err := l.SendWait(t.Context(), overlay.LaneRPC, wire.KindCancel, body)
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Len(t, kept, count/3+1)
		for _, body := range kept {
			require.Equal(t, bytes.Repeat(body[:1], len(body)), body)
		}
	})
}

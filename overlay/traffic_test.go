// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// This test checks that every frame is counted on its lane when it has left,
// that the receiver counts as many bytes, and that what a node sends to itself
// is not traffic.
func TestTrafficIsCountedByLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, b := startNode(t, net, low), startNode(t, net, high)
		l := a.wait(high)
		a.send(low, "to myself")
		synctest.Wait()
		before := a.Traffic()
		require.Positive(t, before.Sent[overlay.LaneCtl], "Hello and the first Beat")
		require.Equal(t, overlay.ByLane{overlay.LaneCtl: before.Sent[overlay.LaneCtl]}, before.Sent)

		small, large := []byte(strings.Repeat("s", 1000)), []byte(strings.Repeat("l", 1<<20))
		for _, lane := range []overlay.Lane{overlay.LaneRPC, overlay.LanePub, overlay.LanePub} {
			_, err := l.Send(lane, kindA, small)
			require.NoError(t, err)
		}
		_, err := l.Send(overlay.LaneRPC, kindA, large)
		require.NoError(t, err)
		synctest.Wait()
		after := a.Traffic()
		frame := uint64(len(small) + wire.FrameOverhead)
		require.Equal(t, before.Sent[overlay.LaneCtl], after.Sent[overlay.LaneCtl])
		require.Equal(t, frame, after.Sent[overlay.LaneRPC])
		require.Equal(t, 2*frame, after.Sent[overlay.LanePub])
		require.InEpsilon(t, len(large), after.Sent[overlay.LaneBulk], 0.001)
		require.Greater(t, after.Sent[overlay.LaneBulk], uint64(len(large)))
		require.Zero(t, after.Queued)

		sum := after.Sent[0] + after.Sent[1] + after.Sent[2] + after.Sent[3]
		require.Equal(t, sum, b.Traffic().Received)
		require.Equal(t, after.Sent, a.Links()[0].Sent)
		require.Equal(t, after.Received, a.Links()[0].Received)
		a.stop()
		synctest.Wait()
		require.GreaterOrEqual(t, b.Traffic().Received, sum, "it outlives the links")
	})
}

// This test checks that what waits in the lanes of all links is summed up, and
// that it is not counted as sent.
func TestQueuedBytesAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, b := startNode(t, net, low), startNode(t, net, high)
		a.wait(high)
		synctest.Wait()
		b.freeze()
		for range 20 { // the stream takes the first ones
			a.send(high, strings.Repeat("x", 60<<10))
			synctest.Wait()
		}
		queued := a.Traffic().Queued[overlay.LaneRPC]
		require.EqualValues(t, a.Links()[0].Queued["rpc"], queued)
		require.Greater(t, queued, uint64(60<<10))
		sent := a.Traffic().Sent[overlay.LaneRPC]
		b.thaw()
		synctest.Wait()
		require.Zero(t, a.Traffic().Queued)
		require.Greater(t, a.Traffic().Sent[overlay.LaneRPC], sent)
	})
}

// This test checks that numbers by lane are an object in JSON, and come back.
func TestByLaneIsAnObjectInJSON(t *testing.T) {
	want := overlay.ByLane{1, 2, 3, 4}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, `{"ctl":1,"rpc":2,"pub":3,"bulk":4}`, string(text))
	var got overlay.ByLane
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
	require.NoError(t, json.Unmarshal([]byte(`{"rpc":5,"later":6}`), &got))
	require.Equal(t, overlay.ByLane{0, 5, 0, 0}, got)
	require.Error(t, json.Unmarshal([]byte(`[1,2,3,4]`), &got))
}

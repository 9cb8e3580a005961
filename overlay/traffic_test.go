// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// This test checks that every frame is counted, on its lane, when it has left,
// that the receiver counts as many bytes, and that what a node sends to itself
// is not traffic.
func TestTrafficIsCountedByLane(t *testing.T) {
	linked(t, func(t *testing.T, a, b *node, l *overlay.Link) {
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
		synctest.Wait()
		require.Equal(t, before.Frames+3, a.Traffic().Frames)
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
		require.GreaterOrEqual(t, after.Frames, before.Frames+3+uint64(len(large)/wire.MaxPayload), "the large one is cut")
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
	linked(t, func(t *testing.T, a, b *node, _ *overlay.Link) {
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

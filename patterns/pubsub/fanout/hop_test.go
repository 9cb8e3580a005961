// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// TestAHopByScript proves what becomes of frames while a link comes, goes, is
// suspect, or has no room. Each line is an event at its time in ms, and what it
// leads to.
func TestAHopByScript(t *testing.T) {
	link := &fake.Link{With: "p", Room: -1}
	h := &Hop{Link: link}
	now := int64(0)
	send := func(body string) Verdict {
		return h.send(now, []string{"addr"}, wire.KindPathLost, []byte(body[:1]), []byte(body[1:]), nil)
	}
	happens := func(e overlay.PeerEventType, session uint64) int {
		return h.event(now, overlay.PeerEvent{Type: e, Peer: "p", Session: session})
	}
	require.True(t, h.HasRoom(1<<30), "one message is taken, however large")
	require.Equal(t, Sent, send("one"))
	require.Equal(t, Sent, send("two"))
	require.Equal(t, 1, link.Dials)
	require.EqualValues(t, 1, link.Holds.Load(), "so that a node that hangs is noticed")
	require.False(t, h.HasRoom(env.MaxWaiting))
	require.Equal(t, Full, send(strings.Repeat("x", env.MaxWaiting)))

	link.Life = 7
	require.Equal(t, Sent, send("three"), "it stays behind those that wait")
	require.Empty(t, link.Said())
	require.Zero(t, happens(overlay.LinkUp, 7))
	require.Equal(t, []string{"one", "two", "three"}, link.Said())
	require.Zero(t, h.losses)

	link.Room = 0
	require.Equal(t, Full, send("no room"))
	require.False(t, h.HasRoom(1))
	link.Silent.Store(true)
	require.True(t, h.HasRoom(1), "nobody waits for a suspect node")
	require.Equal(t, Lost, send("without it"))
	require.EqualValues(t, 1, h.losses)
	require.False(t, h.Sound())

	link.Room, link.Life = -1, 0
	link.Silent.Store(false)
	require.Zero(t, happens(overlay.LinkDown, 7))
	require.EqualValues(t, 2, h.losses, "what the session had may be lost")
	require.Equal(t, Sent, send("four"))
	require.Equal(t, 2, link.Dials)
	require.Zero(t, happens(overlay.DialFailed, 0))
	require.Equal(t, Sent, send("five"), "it may be called again for so long")
	require.Equal(t, 2, link.Dials, "but not at once")
	require.True(t, h.HasRoom(env.MaxWaiting), "nobody waits for it")
	require.Equal(t, Lost, send(strings.Repeat("x", env.MaxWaiting)))
	now += int64(env.RedialTime)
	require.Equal(t, Sent, send("six"))
	require.Equal(t, 3, link.Dials)
	now += int64(env.KeepTime)
	before := h.losses
	require.Equal(t, 3, happens(overlay.DialFailed, 0))
	require.Equal(t, before+1, h.losses)
	now += int64(env.RedialTime)
	require.Equal(t, Sent, send("seven"))

	link.Life, link.Room = 8, 0
	require.Equal(t, 1, happens(overlay.LinkUp, 8), "the lane is full of others")
	link.Room = -1
	require.Equal(t, Sent, send("eight"))
	before = h.losses
	link.Life = 9
	require.Equal(t, Sent, send("nine"))
	require.Equal(t, before+1, h.losses, "another session, of which we have not heard")
	require.Zero(t, happens(overlay.LinkDown, 8))
	require.Equal(t, before+1, h.losses)

	now += int64(env.IdleTime) + 1
	h.rest(now)
	require.Zero(t, link.Holds.Load())
}

// BenchmarkHop measures what a frame costs before the link.
func BenchmarkHop(b *testing.B) {
	h := &Hop{Link: &fake.QuickLink{}}
	body := make([]byte, 1000)
	b.ReportAllocs()
	for b.Loop() {
		h.send(1, nil, wire.KindPublish, body[:30], body[30:], nil)
	}
}

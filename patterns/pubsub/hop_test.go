// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// taped is a link that writes down what is sent, and does what the test says.
type taped struct {
	mu      sync.Mutex // of what is used while another goroutine publishes
	peer    peer.ID
	session uint64
	room    int // frames that the lane still takes; -1 = any number
	suspect atomic.Bool
	dials   int
	holds   atomic.Int32
	tape    []string
	gathers bool          // the lane is busy: what comes may be added to the last frame
	frames  int           // ever
	paths   int           // bytes of paths, ever
	last    []byte        // frame
	roomy   chan struct{} // closed when the lane has room again; see full
}

func (t *taped) Peer() peer.ID   { return t.peer }
func (t *taped) Session() uint64 { return t.session }
func (t *taped) Suspect() bool   { return t.suspect.Load() }
func (t *taped) Open([]string)   { t.dials++ }
func (t *taped) Hold() func()    { t.holds.Add(1); return func() { t.holds.Add(-1) } }
func (t *taped) HasRoom(overlay.Lane, int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session != 0 && t.room != 0
}

func (t *taped) WaitRoom(ctx context.Context, _ overlay.Lane, _ int) (func(), error) {
	t.mu.Lock()
	roomy := t.roomy
	t.mu.Unlock()
	select {
	case <-roomy:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *taped) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.session == 0:
		return overlay.Receipt{}, overlay.ErrLinkDown
	case t.room == 0:
		return overlay.Receipt{}, overlay.ErrLaneFull
	}
	t.room--
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	t.tape = append(t.tape, describe(k, body))
	t.last = body
	t.frames++
	if k == wire.KindPath {
		t.paths += len(body)
	}
	return overlay.Receipt{Session: t.session, Number: uint64(t.frames)}, nil
}

// Extend adds to the last frame as long as the test has it gather, and has not
// looked at what was said.
func (t *taped) Extend(r overlay.Receipt, parts ...[]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gathers || len(t.tape) == 0 || r.Number != uint64(t.frames) || r.Session != t.session || t.room == 0 {
		return false
	}
	t.last = slices.Concat(append([][]byte{t.last}, parts...)...)
	t.tape[len(t.tape)-1] = describe(wire.KindPublish, t.last)
	return true
}

// describe says what a frame is, in short.
func describe(k wire.Kind, body []byte) string {
	switch k {
	case wire.KindPublish:
		if m, err := wire.DecodePublish(body); err == nil {
			s, number, last := "", m.Number, wire.Message{}
			for rest := m.Messages; len(rest) > 0; number++ {
				last = rest.Next(last)
				s += fmt.Sprintf("%s #%d", last.Content[2:], number) // without headers
				if len(rest) > 0 {
					s += " + "
				}
			}
			if m.Epoch != 0 {
				s += fmt.Sprintf(" on %d", m.Epoch)
			}
			for _, skip := range m.Skips {
				s += fmt.Sprintf(" skip %d", skip.Index)
			}
			return s
		}
	case wire.KindPublishMark:
		if m, err := wire.DecodePublishMark(body); err == nil {
			return strings.TrimSuffix(fmt.Sprintf("mark #%d %d", m.Number, m.Flags), " 0")
		}
	case wire.KindPath:
		if p, err := wire.DecodePath(body); err == nil {
			return fmt.Sprintf("path %d to %d #%d", p.Epoch, len(p.Stops), p.Number)
		}
	}
	return string(body)
}

// said returns what was sent since the last call.
func (t *taped) said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.tape
	t.tape = nil
	return out
}

// TestAHopByScript proves what becomes of frames while a link comes, goes, is
// suspect, or has no room. Each line is an event at its time in ms, and what it
// leads to.
func TestAHopByScript(t *testing.T) {
	link := &taped{peer: "p", room: -1}
	h := &hop{link: link}
	now := int64(0)
	send := func(body string) verdict {
		return h.send(now, []string{"addr"}, wire.KindPathLost, []byte(body[:1]), []byte(body[1:]), nil)
	}
	happens := func(e overlay.PeerEventType, session uint64) int {
		return h.event(now, overlay.PeerEvent{Type: e, Peer: "p", Session: session})
	}
	require.True(t, h.hasRoom(1<<30), "one message is taken, however large")
	require.Equal(t, sent, send("one"))
	require.Equal(t, sent, send("two"))
	require.Equal(t, 1, link.dials)
	require.EqualValues(t, 1, link.holds.Load(), "so that a node that hangs is noticed")
	require.False(t, h.hasRoom(maxWaiting))
	require.Equal(t, full, send(strings.Repeat("x", maxWaiting)))

	link.session = 7
	require.Equal(t, sent, send("three"), "it stays behind those that wait")
	require.Empty(t, link.said())
	require.Zero(t, happens(overlay.LinkUp, 7))
	require.Equal(t, []string{"one", "two", "three"}, link.said())
	require.Zero(t, h.losses)

	link.room = 0
	require.Equal(t, full, send("no room"))
	require.False(t, h.hasRoom(1))
	link.suspect.Store(true)
	require.True(t, h.hasRoom(1), "nobody waits for a suspect node")
	require.Equal(t, lost, send("without it"))
	require.EqualValues(t, 1, h.losses)
	require.False(t, h.sound())

	link.room, link.session = -1, 0
	link.suspect.Store(false)
	require.Zero(t, happens(overlay.LinkDown, 7))
	require.EqualValues(t, 2, h.losses, "what the session had may be lost")
	require.Equal(t, sent, send("four"))
	require.Equal(t, 2, link.dials)
	require.Zero(t, happens(overlay.DialFailed, 0))
	require.Equal(t, sent, send("five"), "it may be called again for so long")
	require.Equal(t, 2, link.dials, "but not at once")
	require.True(t, h.hasRoom(maxWaiting), "nobody waits for it")
	require.Equal(t, lost, send(strings.Repeat("x", maxWaiting)))
	now += int64(redialTime)
	require.Equal(t, sent, send("six"))
	require.Equal(t, 3, link.dials)
	now += int64(keepTime)
	before := h.losses
	require.Equal(t, 3, happens(overlay.DialFailed, 0))
	require.Equal(t, before+1, h.losses)
	now += int64(redialTime)
	require.Equal(t, sent, send("seven"))

	link.session, link.room = 8, 0
	require.Equal(t, 1, happens(overlay.LinkUp, 8), "the lane is full of others")
	link.room = -1
	require.Equal(t, sent, send("eight"))
	before = h.losses
	link.session = 9
	require.Equal(t, sent, send("nine"))
	require.Equal(t, before+1, h.losses, "another session, of which we have not heard")
	require.Zero(t, happens(overlay.LinkDown, 8))
	require.Equal(t, before+1, h.losses)

	now += int64(idleTime) + 1
	h.rest(now)
	require.Zero(t, link.holds.Load())
}

// BenchmarkHop measures what a frame costs before the link.
func BenchmarkHop(b *testing.B) {
	h := &hop{link: &quick{}}
	body := make([]byte, 1000)
	repeats(b, func() { h.send(1, nil, wire.KindPublish, body[:30], body[30:], nil) })
}

// quick is a link that takes everything at once.
type quick struct{ taped }

func (q *quick) Session() uint64                        { return 1 }
func (q *quick) HasRoom(overlay.Lane, int) bool         { return true }
func (q *quick) Extend(overlay.Receipt, ...[]byte) bool { return false }
func (q *quick) Send(overlay.Lane, wire.Kind, ...[]byte) (overlay.Receipt, error) {
	return overlay.Receipt{Session: 1}, nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// Link is a link that writes down what is sent, and does what the test says.
type Link struct {
	mu      sync.Mutex    // of what is used while another goroutine publishes
	With    peer.ID       // the peer that it leads to
	Life    uint64        // its session; 0 = it has none
	Room    int           // frames that the lane still takes; -1 = any number
	Silent  atomic.Bool   // it is suspect
	Dials   int           // ever
	Holds   atomic.Int32  // now
	Tape    []string      // what was sent, in short, since Said
	Gathers bool          // the lane is busy: what comes may be added to the last frame
	frames  int           // ever
	Paths   int           // bytes of paths, ever
	last    []byte        // frame
	Roomy   chan struct{} // closed when the lane has room again; see Full
}

func (t *Link) Peer() peer.ID   { return t.With }
func (t *Link) Session() uint64 { return t.Life }
func (t *Link) Suspect() bool   { return t.Silent.Load() }
func (t *Link) Open([]string)   { t.Dials++ }
func (t *Link) Hold() func()    { t.Holds.Add(1); return func() { t.Holds.Add(-1) } }
func (t *Link) HasRoom(overlay.Lane, int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Life != 0 && t.Room != 0
}

func (t *Link) WaitRoom(ctx context.Context, _ overlay.Lane, _ int) (func(), error) {
	t.mu.Lock()
	roomy := t.Roomy
	t.mu.Unlock()
	select {
	case <-roomy:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *Link) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) (overlay.Receipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.Life == 0:
		return overlay.Receipt{}, overlay.ErrLinkDown
	case t.Room == 0:
		return overlay.Receipt{}, overlay.ErrLaneFull
	}
	t.Room--
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	t.Tape = append(t.Tape, describe(k, body))
	t.last = body
	t.frames++
	if k == wire.KindPath {
		t.Paths += len(body)
	}
	return overlay.Receipt{Session: t.Life, Number: uint64(t.frames)}, nil
}

// Extend adds to the last frame as long as the test has it gather, and has not
// looked at what was said.
func (t *Link) Extend(r overlay.Receipt, parts ...[]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.Gathers || len(t.Tape) == 0 || r.Number != uint64(t.frames) || r.Session != t.Life || t.Room == 0 {
		return false
	}
	t.last = slices.Concat(append([][]byte{t.last}, parts...)...)
	t.Tape[len(t.Tape)-1] = describe(wire.KindPublish, t.last)
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

// Said returns what was sent since the last call.
func (t *Link) Said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.Tape
	t.Tape = nil
	return out
}

// Full says whether the lane takes nothing, and lets go who waits for it.
func (t *Link) Full(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Room = -1; is {
		t.Room, t.Roomy = 0, make(chan struct{})
	} else if t.Roomy != nil {
		close(t.Roomy)
		t.Roomy = nil
	}
}

// QuickLink is a link that takes everything at once.
type QuickLink struct{ Link }

func (q *QuickLink) Session() uint64                        { return 1 }
func (q *QuickLink) HasRoom(overlay.Lane, int) bool         { return true }
func (q *QuickLink) Extend(overlay.Receipt, ...[]byte) bool { return false }
func (q *QuickLink) Send(overlay.Lane, wire.Kind, ...[]byte) (overlay.Receipt, error) {
	return overlay.Receipt{Session: 1}, nil
}

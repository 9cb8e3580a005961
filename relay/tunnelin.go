// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// handleData takes a chunk from the client. kept says that it waits, so that
// its bytes are in use still.
func (t *tunnel) handleData(f *session.TunnelData) (kept bool, violation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return false, ""
	case t.source == nil:
		return false, notOpen
	case t.ending != endingNone:
		return false, "a tunnel has data behind its end"
	case !t.intake.came(len(f.Chunk)):
		return false, "a tunnel has more data than credit"
	}
	if len(t.pending) == 0 && t.offer(f.Chunk, f.Last) {
		if t.intake.due > 0 {
			t.all.rota.Ready(t)
		}
		return false, ""
	}
	t.pending = append(t.pending, piece{f.Chunk, f.Last})
	return true, ""
}

// offer passes a chunk to the node, or says that it must wait. What can't come
// there any more is gone: the node says so to both sides.
func (t *tunnel) offer(data []byte, last bool) bool {
	if errors.Is(t.source.Offer(data, last), patterns.ErrWouldBlock) {
		return false
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.intake.passed(len(data), &t.all.allowance)
	return true
}

// passOn passes what waits to the node, and what the client said behind it.
func (t *tunnel) passOn() {
	n := 0
	for n < len(t.pending) && t.offer(t.pending[n].data, t.pending[n].last) {
		t.pending[n] = piece{}
		n++
	}
	if t.pending = t.pending[n:]; len(t.pending) > 0 || t.passed {
		return
	}
	t.pending = nil
	switch t.ending {
	case endingSend:
		t.source.CloseSend()
	case endingClosed:
		t.source.Close()
	default:
		return
	}
	t.passed = true
	t.finish()
}

// handleEnd takes the end of the client's direction, or of its reading.
func (t *tunnel) handleEnd(f *session.TunnelEnd) (violation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ending := endingSend
	if f.Closed {
		ending = endingClosed
	}
	switch {
	case t.over:
		return ""
	case t.source == nil:
		return notOpen
	case ending <= t.ending:
		return "a tunnel has ended already"
	}
	t.ending, t.passed = ending, false
	t.passOn()
	t.all.rota.Ready(t)
	return ""
}

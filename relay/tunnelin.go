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
	p := piece{data: f.Chunk, last: f.Last}
	if t.pending.Len() == 0 && t.offer(p) {
		if t.intake.due > 0 {
			t.all.rota.Ready(t)
		}
		return false, ""
	}
	t.pending.Push(p)
	return true, ""
}

// offer passes a chunk to the node, or says that it must be offered again. What
// can't come there any more is gone: the node says so to both sides.
func (t *tunnel) offer(p piece) bool {
	if errors.Is(t.source.Offer(p.data, p.last), patterns.ErrWouldBlock) {
		return false
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.intake.passed(len(p.data), &t.all.allowance)
	return true
}

// passOn passes what waits to the node, and what the client said behind it.
func (t *tunnel) passOn() {
	for t.pending.Len() > 0 {
		if !t.offer(*t.pending.First()) {
			return
		}
		t.all.reuse(t.pending.Pop().data)
	}
	t.pending.Release()
	if t.passed {
		return
	}
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

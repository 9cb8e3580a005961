// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"errors"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// handle takes in the body of one frame of that kind, on the goroutine that
// reads the link.
func (e *Engine) handle(k wire.Kind) func(request.Link, []byte) {
	return func(l request.Link, body []byte) { e.hear(l, k, body) }
}

// handleData is handle for chunks, and says whether the body is in use still.
func (e *Engine) handleData(l request.Link, body []byte) (kept bool) {
	return e.hear(l, wire.KindTunnelData, body)
}

func (e *Engine) hear(l request.Link, k wire.Kind, body []byte) (kept bool) {
	id, flags, err := wire.TunnelOf(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return false
	}
	t, kept := e.find(l.Peer(), k, id, flags, body)
	if t == nil {
		return kept
	}
	return t.handle(k, body)
}

// handle takes in a frame, and says whether its body is in use still. It is not
// called by two goroutines at once.
func (t *Tunnel) handle(k wire.Kind, body []byte) (kept bool) {
	var err error
	switch k {
	case wire.KindTunnelData:
		kept, err = t.handleData(body)
	case wire.KindTunnelCredit:
		err = t.handleCredit(body)
	case wire.KindTunnelEnd:
		err = t.handleEnd(body)
	case wire.KindTunnelReset:
		err = t.handleReset(body)
	}
	if err == nil {
		return kept
	}
	reason, how := dropViolation, patterns.ErrInterrupted
	if errors.Is(err, security.ErrUnauthorized) {
		reason, how = dropForged, errForged
	}
	t.engine.drops.Inc(reason)
	t.mu.Lock()
	t.breakOff(wire.TunnelReset{Cause: wire.CauseViolation, Text: err.Error()}, how)
	t.unlock(false)
	return false
}

// handleData takes in a chunk. A short one for a relay, which gives back what it
// is put in, is copied; a program owns what it receives.
func (t *Tunnel) handleData(body []byte) (kept bool, err error) {
	m, err := wire.DecodeTunnelData(body)
	if err != nil {
		return false, err
	}
	data := m.Payload
	if t.stream != nil {
		if data, err = t.stream.Open(data, m.Flags); err != nil {
			return false, err
		}
	}
	t.mu.Lock()
	defer t.unlock(false)
	t.known = true
	switch {
	case t.over:
		t.engine.drops.Inc(dropLate)
		return false, nil
	case t.ends.heard > endingNone:
		return false, errBehindEnd
	case !t.window.came(len(data)):
		return false, errNoCredit
	case t.ends.wanted == endingClosed:
		t.consumed(cost(len(data))) // nobody receives it, but the other side must not wait for ever
		return false, nil
	}
	if kept = t.watcher == nil || len(data) >= shortChunk; !kept {
		data = t.engine.buffers.copyOf(data)
	}
	t.in.Push(chunk{data, m.Flags&wire.FlagLast != 0})
	t.changedIn()
	return kept, nil
}

func (t *Tunnel) handleCredit(body []byte) error {
	m, err := wire.DecodeTunnelCredit(body)
	if err != nil {
		return err
	}
	if t.stream != nil {
		if err := t.stream.OpenCredit(m.Seal, m.Total, m.Flags); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.unlock(false)
	t.known = true
	if m.Total > t.granted && !t.over {
		t.credit = int(min(uint64(t.credit)+m.Total-t.granted, maxCredit))
		t.granted = m.Total
		t.changedOut()
	}
	return nil
}

func (t *Tunnel) handleEnd(body []byte) error {
	m, err := wire.DecodeTunnelEnd(body)
	if err != nil {
		return err
	}
	if t.stream != nil {
		if rest, err := t.stream.Open(m.Seal, m.Flags); err != nil {
			return err
		} else if len(rest) > 0 {
			return errBehindEnd
		}
	}
	heard := endingSend
	if m.Flags&wire.FlagClosed != 0 {
		heard = endingClosed
	}
	t.mu.Lock()
	defer t.unlock(false)
	t.known = true
	t.ends.hear(heard)
	t.changedIn()
	t.changedOut()
	t.sayDue()
	t.settle()
	return nil
}

func (t *Tunnel) handleReset(body []byte) error {
	m, err := wire.DecodeTunnelReset(body)
	if err != nil {
		return err
	}
	heed, err := t.openReset(&m)
	if err != nil || !heed {
		return err
	}
	t.mu.Lock()
	defer t.unlock(false)
	t.fail(resetError(m), m.Cause == wire.CauseProgram)
	return nil
}

// openReset opens a reset, and says whether to heed it. One in the clear proves
// nothing: the worst that a member makes of it is that the opening has failed,
// as long as the opener has not spoken.
func (t *Tunnel) openReset(m *wire.TunnelReset) (heed bool, err error) {
	sealed := m.Flags&wire.FlagSealedReset != 0
	switch {
	case t.stream == nil && sealed:
		return false, errNotSealed
	case t.stream == nil:
		return true, nil
	case !sealed:
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.known || t.member == nil {
			t.engine.drops.Inc(dropForged)
			return false, nil
		}
		*m = wire.TunnelReset{Cause: wire.CauseInterrupted}
		return true, nil
	}
	why, err := t.stream.OpenReset(m.Sealed, m.Flags)
	if err != nil {
		return false, err
	}
	return true, m.DecodeWhy(why)
}

// resetError is what a reset means to the program here.
func resetError(m wire.TunnelReset) error {
	switch m.Cause {
	case wire.CauseProgram:
		return &patterns.TunnelError{Code: patterns.Code(m.Code), Message: m.Text}
	case wire.CauseOverloaded:
		return patterns.ErrOverloaded
	}
	return patterns.ErrInterrupted
}

// handlePeerEvent ends the tunnels of a link that is lost.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	if ev.Type != overlay.LinkDown {
		return
	}
	lost := e.tunnelsOf(func(t *Tunnel) bool { return t.remote.id == ev.Peer && t.session == ev.Session })
	for _, t := range lost {
		t.mu.Lock()
		t.fail(patterns.ErrInterrupted, false)
		t.unlock(false)
	}
}

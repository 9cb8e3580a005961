// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// CloseSend implements patterns.Tunnel.
func (t *Tunnel) CloseSend() error {
	t.mine("tunnel.close")
	t.mu.Lock()
	err := t.ends.err
	if err == nil {
		t.end(endingSend)
	}
	t.unlock(true)
	return err
}

// Close implements patterns.Tunnel.
func (t *Tunnel) Close() error {
	t.mine("tunnel.close")
	t.mu.Lock()
	t.dropIn()
	t.changedIn()
	if !t.over {
		t.end(endingClosed)
	}
	t.unlock(true)
	return nil
}

// Reset implements patterns.Tunnel.
func (t *Tunnel) Reset(code patterns.Code, text string) error {
	t.mine("tunnel.close")
	t.mu.Lock()
	t.reset(wire.CauseProgram, code, text)
	t.unlock(true)
	return nil
}

// Interrupt ends both directions because the program that this tunnel led to,
// behind the one that holds it, is lost: the other side gets
// patterns.ErrInterrupted.
func (t *Tunnel) Interrupt() {
	t.mine("tunnel.close")
	t.mu.Lock()
	t.reset(wire.CauseInterrupted, 0, "")
	t.unlock(true)
}

// mine takes a turn, except for a watcher: it is called in one.
func (t *Tunnel) mine(name string) {
	t.mu.Lock()
	watched := t.watcher != nil
	t.mu.Unlock()
	if !watched {
		t.take(name)
	}
}

// end ends this side's part so far, behind what is being sent. mu is held, and
// released meanwhile.
func (t *Tunnel) end(e ending) {
	t.ends.want(e)
	t.changedOut()
	t.sayDue()
}

// sayDue tells the other side of the end that is due, if any. mu is held, and
// released meanwhile.
func (t *Tunnel) sayDue() {
	if t.ends.due() == endingNone || !t.senders.try() {
		return // whoever has the senders' turn says it
	}
	t.leaveSending()
	t.mu.Lock()
}

// sayEnd tells the other side of the end that is due, behind what is parked.
// The senders' turn is taken; mu is held, and released meanwhile.
func (t *Tunnel) sayEnd() {
	e := t.ends.due()
	if t.ends.heard == endingClosed && t.stream == nil {
		t.dropParked() // nobody wants it; but what is sealed has a number, and must go before the end
	}
	t.unlock(true)
	f := t.endFrame(e == endingClosed)
	t.submit(wire.KindTunnelEnd, f)
	t.engine.frames.put(f)
	t.mu.Lock()
	t.ends.told = max(t.ends.told, e)
	t.settle()
}

// reset ends both directions at once, as the program here wants, and tells the
// other side why. mu is held.
func (t *Tunnel) reset(c wire.TunnelCause, code patterns.Code, text string) {
	if t.over {
		if t.kept > 0 { // whom it waited for does not take it any more
			t.dropIn()
		}
		return
	}
	if len(text) > wire.MaxTunnelText {
		text = strings.ToValidUTF8(text[:wire.MaxTunnelText], "")
	}
	t.breakOff(wire.TunnelReset{Cause: c, Code: uint32(code), Text: text}, patterns.ErrClosed)
}

// breakOff ends both directions at once: err is how they ended here. mu is held.
func (t *Tunnel) breakOff(m wire.TunnelReset, err error) {
	if t.over {
		return
	}
	m.ID, m.Flags = t.id, t.flags
	t.parting = &m
	t.todo |= sayReset
	t.fail(err, true)
}

// sendCredit tells the other side how much it was given in total. One that
// overtakes a smaller total makes that one pointless. mu is not held.
func (t *Tunnel) sendCredit(total uint64) {
	f := t.engine.frames.get()
	defer t.engine.frames.put(f)
	f.parts[0] = t.creditFrame(f.head[:0], total)
	if _, err := t.remote.link.SendWait(t.engine.atOnce, overlay.LaneCtl, wire.KindTunnelCredit, f.parts[0]); err == nil {
		return
	}
	t.mu.Lock()
	if !t.over {
		t.owing = true
		t.todo |= pushOut
	}
	t.unlock(true)
}

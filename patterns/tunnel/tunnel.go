// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"errors"
	"strings"
	"sync"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Tunnel is one end of a tunnel. Methods may be called concurrently, as package
// patterns describes them.
//
// It is kept small: what only some tunnels need, or only while somebody waits,
// is made when it is needed.
type Tunnel struct {
	port // immutable once it is in its peer's table

	// Immutable likewise.
	info  patterns.TunnelInfo
	limit int // of a message that Receive returns, in bytes

	mu       sync.Mutex // guards what follows
	do       after.Set[todo]
	state    state
	parting  *wire.TunnelReset
	serving  bool // its handler has not returned
	detached bool
	returned bool // its place and its window are given back

	receiver receiver
	sender   sender
	life     lifetime // has a mutex of its own
}

var _ patterns.Tunnel = (*Tunnel)(nil)

// newTunnel makes a tunnel with a window of that size, to which the other side
// has given credit.
func newTunnel(p port, window int, given uint64) *Tunnel {
	t := &Tunnel{port: p, state: state{window: credit.NewWindow(window), out: credit.NewBalance(given)}}
	t.receiver = receiver{t: t}
	t.sender = sender{t: t}
	return t
}

// Info implements patterns.Tunnel.
func (t *Tunnel) Info() patterns.TunnelInfo { return t.info }

// Err implements patterns.Tunnel.
func (t *Tunnel) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.err()
}

// Done implements patterns.Tunnel.
func (t *Tunnel) Done() <-chan struct{} { return t.life.Done() }

// Detach lets the handler return without ending the tunnel: its owner has no
// goroutine to spare for each.
func (t *Tunnel) Detach() {
	t.mu.Lock()
	t.detached = true
	t.mu.Unlock()
}

// CloseSend implements patterns.Tunnel.
func (t *Tunnel) CloseSend() error {
	t.turn("tunnel.close")
	t.mu.Lock()
	defer t.unlock()
	if t.state.ends.err == nil {
		t.do.Add(t.state.want(endingSend))
	}
	return t.state.ends.err
}

// Close implements patterns.Tunnel.
func (t *Tunnel) Close() error {
	t.turn("tunnel.close")
	t.mu.Lock()
	t.close()
	t.unlock()
	return nil
}

// Reset implements patterns.Tunnel.
func (t *Tunnel) Reset(code patterns.Code, text string) error {
	t.turn("tunnel.close")
	t.mu.Lock()
	t.reset(wire.CauseProgram, code, text)
	t.unlock()
	return nil
}

// close ends both directions in good order. mu is held, as for all below that
// do not say otherwise.
func (t *Tunnel) close() {
	t.do.Add(changedIn | t.state.want(endingClosed))
	t.state.window.Read(t.state.drop())
}

// reset ends both directions at once, as the program here wants, and tells the
// other side why.
func (t *Tunnel) reset(c wire.TunnelCause, code patterns.Code, text string) {
	if t.state.over { // the other side can't be told any more
		t.close()
		return
	}
	if len(text) > wire.MaxTunnelText {
		text = strings.ToValidUTF8(text[:wire.MaxTunnelText], "")
	}
	t.breakOff(wire.TunnelReset{Cause: c, Code: uint32(code), Text: text}, patterns.ErrClosed)
}

// breakOff ends both directions at once: err is how they ended here.
func (t *Tunnel) breakOff(m wire.TunnelReset, err error) {
	if !t.state.over {
		t.parting = &m
		t.do.Add(sayReset)
	}
	t.do.Add(t.state.fail(err, true))
}

// end implements endpoint.
func (t *Tunnel) end(cause wire.TunnelCause, err error) {
	t.mu.Lock()
	t.breakOff(wire.TunnelReset{Cause: cause}, err)
	t.unlock()
}

// lose implements endpoint.
func (t *Tunnel) lose(err error) {
	t.mu.Lock()
	t.do.Add(t.state.fail(err, false))
	t.unlock()
}

// gone implements endpoint.
func (t *Tunnel) gone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.finished
}

// hear implements endpoint.
func (t *Tunnel) hear(k wire.Kind, body []byte) (kept bool) {
	w, err := t.read(k, body)
	t.mu.Lock()
	switch {
	case err != nil:
	case k == wire.KindTunnelCredit && w.flags != 0:
		if err = t.state.returned(w.total, t.engine.budget); err == nil {
			t.receiver.consumed(0)
		}
	default:
		var do todo
		do, err = t.state.hear(w, t.flags == wire.FlagOpener)
		t.do.Add(do)
	}
	switch {
	case err != nil:
		why, how := t.engine.blame(err)
		t.breakOff(why, how)
	case t.state.in.Len() > 0 && t.state.deaf():
		t.receiver.consumed(t.state.drop()) // nobody receives it, but the other side must not wait for ever
	default:
		kept = k == wire.KindTunnelData && !t.state.over && !t.receiver.deliver()
	}
	t.unlock()
	return kept
}

// unlock releases mu and does what was decided under it.
func (t *Tunnel) unlock() {
	do := t.do.Take()
	if do == 0 {
		t.mu.Unlock()
		return
	}
	var receive, send func()
	if do&changedIn != 0 {
		receive = t.receiver.news()
	}
	if do&changedOut != 0 {
		send = t.sender.news()
	}
	total := t.state.window.Total()
	saying := do&sayEnd != 0 && t.state.ends.due() != endingNone && t.sender.try()
	t.mu.Unlock()

	if do&giveCredit != 0 {
		t.sendCredit(total)
	}
	if do&sayReset != 0 {
		t.sendReset(*t.parting) // set once
	}
	if receive != nil {
		t.wake("tunnel.receive", receive)
	}
	if send != nil {
		t.wake("tunnel.send", send)
	}
	if saying { // else whoever has the senders' turn does it
		t.mu.Lock()
		t.sender.leave()
	}
	if do&finishUp != 0 {
		t.engine.table.remove(t)
		t.release()
		t.wake("tunnel.done", t.life.end)
	}
	t.engine.count(do)
}

// release gives back the tunnel's place and window once it is finished and its
// handler has returned; mu is not held.
func (t *Tunnel) release() {
	t.mu.Lock()
	due := t.state.finished && !t.serving && !t.returned
	t.returned = t.returned || due
	t.mu.Unlock()
	if due {
		t.engine.budget.Close(t.state.window.Size())
		t.engine.leave(t.place, t.number)
	}
}

// served ends the tunnel as its handler wants.
func (t *Tunnel) served(err error) {
	var remote *patterns.RemoteError
	var refusal *patterns.Refusal
	t.mu.Lock()
	t.serving = false
	switch {
	case err == nil && t.detached:
	case err == nil:
		t.close()
	case errors.As(err, &remote):
		t.reset(wire.CauseProgram, remote.Code, remote.Message)
	case errors.As(err, &refusal):
		t.reset(refusalCause(refusal), patterns.CodeUnknown, err.Error())
	default:
		t.reset(wire.CauseProgram, patterns.CodeUnknown, err.Error())
	}
	t.unlock()
	t.release()
}

// refusalCause is what a handler that stands for a program elsewhere says of it.
func refusalCause(r *patterns.Refusal) wire.TunnelCause {
	switch {
	case errors.Is(r.Cause, patterns.ErrOverloaded):
		return wire.CauseOverloaded
	case errors.Is(r.Cause, patterns.ErrClosed):
		return wire.CauseLeaving
	case errors.Is(r.Cause, patterns.ErrInterrupted):
		return wire.CauseInterrupted
	}
	return wire.CauseProgram
}

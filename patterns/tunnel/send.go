// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// errTorn is what the other side is told when a message breaks off.
const errTorn = "the sender gave up in the middle of a message"

// Send implements patterns.Tunnel.
func (t *Tunnel) Send(ctx context.Context, body []byte) error {
	if err := t.enter(ctx, &t.senders, "tunnel.send"); err != nil {
		return err
	}
	err := error(nil)
	if t.ends.maySend() {
		err = t.send(ctx, body, true, false)
	} else {
		err = t.sendError()
	}
	t.leaveSending()
	return err
}

// SendPart sends as much of body as there is credit for, at most one chunk, as a
// message of its own, and returns how many bytes that were. It waits while there
// is no credit. It is for streams of bytes, whose deadlines must break nothing
// off.
func (t *Tunnel) SendPart(ctx context.Context, body []byte) (n int, err error) {
	if err := t.enter(ctx, &t.senders, "tunnel.send"); err != nil {
		return 0, err
	}
	if !t.ends.maySend() {
		err = t.sendError()
	} else if n, err = t.awaitCredit(ctx, len(body)); err == nil {
		err = t.transmit(ctx, body[:n], true)
	}
	t.leaveSending()
	if err != nil {
		return 0, err
	}
	return n, nil
}

// send sends a part of a message, chunk by chunk; last ends the message. begun
// says that a part of it has gone before. mu is held and the senders' turn was
// taken; both are when it returns, too.
func (t *Tunnel) send(ctx context.Context, body []byte, last, begun bool) error {
	for {
		n, err := t.awaitCredit(ctx, len(body))
		if err == nil {
			chunk := body[:n]
			body = body[n:]
			err = t.transmit(ctx, chunk, last && len(body) == 0)
		}
		if err != nil {
			return t.torn(err, begun)
		}
		if begun = true; len(body) == 0 {
			return nil
		}
	}
}

// torn ends a tunnel whose message breaks off: what follows would be taken for
// a part of it.
func (t *Tunnel) torn(err error, begun bool) error {
	var late *patterns.DeadlineError
	if begun && errors.As(err, &late) {
		t.reset(wire.CauseProgram, patterns.CodeUnknown, errTorn)
	}
	return err
}

// awaitCredit waits until some of the next left bytes may be sent.
func (t *Tunnel) awaitCredit(ctx context.Context, left int) (n int, err error) {
	for late := error(nil); ; {
		switch {
		case t.ends.err != nil || t.ends.heard == endingClosed:
			return 0, t.sendError() // an end that was asked for here waits for the message
		case late != nil:
			return 0, late
		}
		if len(t.parked) == 0 {
			if n, ok := piece(left, t.credit); ok {
				t.credit -= cost(n)
				return n, nil
			}
		}
		late = t.wait(ctx, &t.blocked, &t.outBell, "tunnel.send.over")
	}
}

// sendError is why nothing can be sent.
func (t *Tunnel) sendError() error {
	if t.ends.err != nil {
		return t.ends.err
	}
	return patterns.ErrClosed
}

// transmit sends a chunk for which there is credit, waiting for room in the
// link's lane. It releases mu for that.
func (t *Tunnel) transmit(ctx context.Context, body []byte, last bool) error {
	t.unlock(true)
	f := t.frame(body, last)
	session, err := t.remote.link.SendWait(ctx, overlay.LaneBulk, wire.KindTunnelData, f.parts[:]...)
	if err != nil && ctx.Err() != nil && t.stream != nil {
		// It has a number, so it has to go: the outlet sends it in its turn.
		t.remote.outlet.park(t, f.parcel(wire.KindTunnelData))
		session, err = t.session, nil
	}
	t.engine.frames.put(f)
	if err != nil && ctx.Err() != nil {
		t.take("tunnel.send.over")
	}
	t.mu.Lock()
	return t.sent(ctx, len(body), session, err)
}

// sent judges how the sending of a chunk went.
func (t *Tunnel) sent(ctx context.Context, n int, session uint64, err error) error {
	switch {
	case err == nil && session == t.session:
		return nil
	case err == nil, errors.Is(err, overlay.ErrLinkDown):
		t.fail(patterns.ErrInterrupted, false)
	case errors.Is(err, overlay.ErrClosed):
		t.fail(patterns.ErrClosed, false)
	case ctx.Err() != nil:
		t.credit += cost(n)
		return late(ctx)
	default:
		t.fail(patterns.ErrInterrupted, false)
	}
	return t.sendError()
}

// leaveSending lets the next sender in, after the end that was asked for
// meanwhile. mu is held, and released.
func (t *Tunnel) leaveSending() {
	for t.ends.due() != endingNone {
		t.sayEnd()
	}
	t.leave(&t.senders, "tunnel.send")
}

// TrySend implements patterns.Tunnel.
func (t *Tunnel) TrySend(body []byte) error {
	t.take("tunnel.send")
	t.mu.Lock()
	if !t.ends.maySend() {
		err := t.sendError()
		t.unlock(true)
		return err
	}
	if costOf(len(body)) > t.credit || !t.remote.outlet.room(len(body)) || !t.senders.try() {
		t.unlock(true)
		return patterns.ErrWouldBlock
	}
	t.credit -= costOf(len(body))
	t.unlock(true)
	for {
		n := min(len(body), maxChunk)
		t.transmitNow(body[:n], n == len(body))
		if body = body[n:]; len(body) == 0 {
			break
		}
	}
	t.mu.Lock()
	t.leaveSending()
	return nil
}

// transmitNow sends a chunk for which there is credit, or has the outlet do it
// if there is no room in the lane. mu is not held; the senders' turn is taken.
func (t *Tunnel) transmitNow(body []byte, last bool) {
	f := t.frame(body, last)
	t.submit(wire.KindTunnelData, f)
	t.engine.frames.put(f)
}

// submit sends a frame of lane bulk without waiting, or parks it.
func (t *Tunnel) submit(k wire.Kind, f *frame) {
	if t.remote.outlet.idle() {
		session, err := t.remote.link.SendWait(t.engine.atOnce, overlay.LaneBulk, k, f.parts[:]...)
		if err == nil && session == t.session {
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.mu.Lock()
			t.fail(patterns.ErrInterrupted, false)
			t.unlock(true)
			return
		}
	}
	t.remote.outlet.park(t, f.parcel(k))
}

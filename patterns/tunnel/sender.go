// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"io"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// errTorn is what the other side is told when a message breaks off.
const errTorn = "the sender gave up in the middle of a message"

// sender is the sending half of a tunnel. Its methods need the senders' turn and
// the tunnel's mu, which they release while they wait, unless they say otherwise.
type sender struct {
	t *Tunnel
	waiters
	open gathering // its turn guards it
}

// gathering is the frame that was sent last. Small messages that find the one before
// still waiting begin a frame of several, to which others are added as long as the
// link is busy.
type gathering struct {
	frame overlay.Receipt // its zero value names none
	size  int             // of its chunk, if that is of several; else 0
	busy  bool            // the next small message begins a frame of several
}

// Send implements patterns.Tunnel.
func (t *Tunnel) Send(ctx context.Context, body []byte) error {
	return t.sender.inTurn(ctx, func() error { return t.sender.send(ctx, body, true, false) })
}

// SendPart sends as much of body as there is credit for, at most one chunk, as a
// message of its own, and returns how many bytes that were. It waits while there
// is no credit. It is for streams of bytes, whose deadlines must break nothing
// off.
func (t *Tunnel) SendPart(ctx context.Context, body []byte) (n int, err error) {
	err = t.sender.inTurn(ctx, func() error {
		if n, err = t.sender.awaitCredit(ctx, len(body)); err != nil {
			return err
		}
		return t.sender.transmit(ctx, body[:n], wire.FlagLast)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// SendFrom implements patterns.Tunnel. What one call of r.Read returns leaves
// at once, so it needs no more memory than one chunk.
func (t *Tunnel) SendFrom(ctx context.Context, r io.Reader) (sum int64, err error) {
	err = t.sender.inTurn(ctx, func() error {
		sum, err = t.sender.sendFrom(ctx, r)
		return err
	})
	return sum, err
}

// TrySend implements patterns.Tunnel.
func (t *Tunnel) TrySend(body []byte) error {
	t.turn("tunnel.send")
	t.mu.Lock()
	err := t.state.maySend()
	if err == nil && !t.sender.taken && t.sender.add(body) {
		t.unlock()
		return nil
	}
	ask, returned := false, uint64(0)
	switch {
	case err != nil:
	case credit.CostOf(len(body), maxChunk) > t.state.out.Left():
		err = patterns.ErrWouldBlock
		returned, ask = t.state.out.Ask()
	case !t.remote.room(len(body)) || !t.sender.try():
		err = patterns.ErrWouldBlock
	}
	if err != nil {
		t.unlock()
		if ask {
			t.sendReturn(returned)
		}
		return err
	}
	t.state.out.Spend(len(body), maxChunk)
	t.unlock()
	for {
		n := min(len(body), maxChunk)
		t.sender.transmitNow(body[:n], flagsOf(n == len(body)))
		if body = body[n:]; len(body) == 0 {
			break
		}
	}
	t.mu.Lock()
	t.sender.leave()
	return nil
}

// inTurn runs f in the turn of whoever calls; neither turn nor mu are held
// before it, nor after it.
func (s *sender) inTurn(ctx context.Context, f func() error) error {
	t := s.t
	if err := s.enter(ctx, t, "tunnel.send"); err != nil {
		return err
	}
	err := t.state.maySend()
	if err == nil {
		err = f()
	}
	s.leave()
	return err
}

// leave lets the next sender in, after the end that was asked for meanwhile, and
// releases mu.
func (s *sender) leave() {
	t := s.t
	for t.state.ends.due() != endingNone {
		e, read := t.state.ends.due(), t.state.taken
		t.unlock()
		f := t.engine.frames.get()
		t.port.codec.end(f, e == endingClosed, read)
		s.submit(wire.KindTunnelEnd, f)
		t.engine.frames.put(f)
		t.mu.Lock()
		t.do.Add(t.state.told(e))
	}
	s.pass(t, "tunnel.send.next")
}

// send sends a part of a message, chunk by chunk; last ends the message. begun
// says that a part of it has gone before.
func (s *sender) send(ctx context.Context, body []byte, last, begun bool) error {
	if last && !begun {
		if s.add(body) {
			return nil
		}
		if s.begins(body) {
			return s.transmit(ctx, body, wire.FlagLast|wire.FlagSeveral)
		}
	}
	for {
		n, err := s.awaitCredit(ctx, len(body))
		if err == nil {
			chunk := body[:n]
			body = body[n:]
			err = s.transmit(ctx, chunk, flagsOf(last && len(body) == 0))
		}
		if err != nil {
			return s.torn(err, begun)
		}
		if begun = true; len(body) == 0 {
			return nil
		}
	}
}

func (s *sender) sendFrom(ctx context.Context, r io.Reader) (sum int64, err error) {
	t, buf := s.t, make([]byte, maxChunk)
	for begun := false; ; {
		t.unlock()
		n, err := r.Read(buf)
		t.turn("tunnel.send")
		t.mu.Lock()
		last := err == io.EOF
		if n > 0 || last {
			if err := s.send(ctx, buf[:n], last, begun); err != nil {
				return sum, err
			}
			sum, begun = sum+int64(n), true
		}
		if last {
			return sum, nil
		}
		if err != nil {
			t.reset(wire.CauseProgram, patterns.CodeUnknown, "the sender could not read on: "+err.Error())
			return sum, err
		}
	}
}

// torn ends a tunnel whose message breaks off: what follows would be taken for
// a part of it.
func (s *sender) torn(err error, begun bool) error {
	var late *patterns.DeadlineError
	if begun && errors.As(err, &late) {
		s.t.reset(wire.CauseProgram, patterns.CodeUnknown, errTorn)
	}
	return err
}

// awaitCredit waits until some of the next left bytes may be sent.
func (s *sender) awaitCredit(ctx context.Context, left int) (n int, err error) {
	state := &s.t.state
	for late := error(nil); ; {
		if err := state.cut(); err != nil {
			return 0, err
		} else if late != nil {
			return 0, late
		}
		if n, ok := state.out.Piece(left, maxChunk); ok {
			return n, nil
		}
		late = s.wait(ctx, s.t, "tunnel.send.over")
	}
}

// returnIdle gives credit back if nothing was sent since the last call. It needs neither
// turn nor mu.
func (s *sender) returnIdle() {
	t := s.t
	t.mu.Lock()
	total, ok := uint64(0), false
	if t.state.out.Idle() && t.state.maySend() == nil {
		total, ok = t.state.out.Return()
	}
	t.unlock()
	if ok {
		t.sendReturn(total)
	}
}

// add adds a small message to the frame that was sent last, if the link has not
// taken that yet and there is credit. It waits for nothing, and so holds mu
// throughout.
func (s *sender) add(body []byte) bool {
	t, o := s.t, &s.open
	if o.frame.Number == 0 || len(body) > smallMessage || t.stream != nil || t.remote.extend == nil {
		return false
	}
	if o.size == 0 {
		o.busy = t.remote.extend(o.frame)
		return false
	}
	size := o.size + wire.TunnelLength + len(body)
	cost := credit.Cost(size) - credit.Cost(o.size)
	if size > maxChunk || cost > t.state.out.Left() {
		return false
	}
	f := t.engine.frames.get()
	t.next(f, body)
	done := t.remote.extend(o.frame, f.parts[:]...)
	t.engine.frames.put(f)
	if done {
		t.state.out.Take(cost)
		o.size, o.busy = size, true
	}
	return done
}

// begins says whether a message is sent as the first of several in its frame, and
// takes the credit for that.
func (s *sender) begins(body []byte) bool {
	return s.open.busy && len(body) <= smallMessage && s.t.state.out.Spend(wire.TunnelLength+len(body), maxChunk)
}

// transmit sends a chunk for which there is credit, waiting for room in the
// link's lane.
func (s *sender) transmit(ctx context.Context, body []byte, flags uint8) error {
	t := s.t
	t.unlock()
	f := t.engine.frames.get()
	size, several := len(body), flags&wire.FlagSeveral != 0
	if several {
		size += wire.TunnelLength
		t.whole(f, body)
	} else {
		t.data(f, body, flags)
	}
	receipt, err := t.remote.link.SendWait(ctx, overlay.LaneBulk, wire.KindTunnelData, f.parts[:]...)
	s.open = gathering{frame: receipt}
	if several {
		s.open.size = size
	}
	gaveUp := err != nil && ctx.Err() != nil
	if gaveUp && t.stream != nil { // it has a number, so it has to go
		s.standInLine(wire.KindTunnelData, f)
		err = nil
	}
	t.engine.frames.put(f)
	if gaveUp && err != nil {
		t.turn("tunnel.send.over")
	}
	t.mu.Lock()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, overlay.ErrClosed):
		t.do.Add(t.state.fail(patterns.ErrClosed, false))
	case gaveUp && !errors.Is(err, overlay.ErrLinkDown):
		t.state.out.Refund(size)
		return late(ctx)
	default:
		t.do.Add(t.state.fail(patterns.ErrInterrupted, false))
	}
	return t.state.maySend()
}

// transmitNow sends a chunk for which there is credit, or has it stand in line.
// mu is not held, as for all below.
func (s *sender) transmitNow(body []byte, flags uint8) {
	f := s.t.engine.frames.get()
	s.open = gathering{}
	s.t.data(f, body, flags)
	s.submit(wire.KindTunnelData, f)
	s.t.engine.frames.put(f)
}

// submit sends a frame of lane bulk without waiting, or has it stand in line.
func (s *sender) submit(k wire.Kind, f *frame) {
	switch err := s.t.remote.conduit.Send(overlay.LaneBulk, k, f.parts[:]...); {
	case errors.Is(err, overlay.ErrLaneFull):
		s.standInLine(k, f)
	case err != nil:
		s.t.lose(patterns.ErrInterrupted)
	}
}

// standInLine is submit for a frame that has found no room.
func (s *sender) standInLine(k wire.Kind, f *frame) {
	t := s.t
	t.mu.Lock()
	t.state.unsent++
	t.unlock()
	t.remote.later(overlay.LaneBulk, k, func(err error) {
		t.mu.Lock()
		if err != nil {
			t.do.Add(t.state.fail(patterns.ErrInterrupted, false))
		}
		t.do.Add(t.state.left())
		t.unlock()
	}, f.body())
}

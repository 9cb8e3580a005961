// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"io"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// receiver is the receiving half of a tunnel. Its methods need the receivers'
// turn and the tunnel's mu, which they release while they wait.
type receiver struct {
	t *Tunnel
	waiters
}

// Receive implements patterns.Tunnel. If ctx ends within a message, what came
// of it stays for the next call.
func (t *Tunnel) Receive(ctx context.Context) (body []byte, err error) {
	r := &t.receiver
	if err := r.enter(ctx, t, "tunnel.receive"); err != nil {
		return nil, err
	}
	for whole := false; !whole && err == nil; {
		if err = r.more(ctx); err == nil {
			body, whole, err = r.assemble()
		}
	}
	r.pass(t, "tunnel.receive.next")
	return body, err
}

// ReceiveTo implements patterns.Tunnel. Credit is given when w has taken a
// chunk, so a slow w slows the sender.
func (t *Tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	r := &t.receiver
	if err := r.enter(ctx, t, "tunnel.receive"); err != nil {
		return 0, err
	}
	n, err := r.receiveTo(ctx, w)
	r.pass(t, "tunnel.receive.next")
	return n, err
}

// assemble takes one chunk, and returns the message if it is whole with that.
func (r *receiver) assemble() ([]byte, bool, error) {
	body, whole, cost, spare, err := r.t.state.assemble(r.t.limit)
	if err != nil {
		return nil, false, err
	}
	r.consumed(cost)
	if spare != nil {
		r.t.remote.recycle(spare)
	}
	return body, whole, nil
}

// more waits for a chunk. Errors say that none will come, or not in time.
func (r *receiver) more(ctx context.Context) error {
	for late := error(nil); ; {
		err := r.t.state.next()
		if err != errNothing {
			return err
		}
		if late != nil { // a handler's context ends with the tunnel, whose end says more
			return late
		}
		late = r.wait(ctx, r.t, "tunnel.receive.over")
	}
}

// consumed notes that chunks of that cost were read, and gives credit for them.
func (r *receiver) consumed(cost int) {
	t := r.t
	if !t.state.read(cost) {
		return
	}
	if w := &t.state.window; w.Turned() {
		w.Resize(t.engine.now(), t.engine.budget)
	}
	if t.state.window.Grant() {
		t.do |= giveCredit
	}
}

func (r *receiver) receiveTo(ctx context.Context, w io.Writer) (sum int64, err error) {
	t := r.t
	begun := t.state.parted
	if begun { // what Receive has collected has its credit back already
		if sum, err = r.writeTo(w, t.state.takePart(), sum); err != nil {
			return sum, err
		}
	}
	for {
		if err := r.more(ctx); err != nil {
			return sum, r.torn(err, begun)
		}
		if first := t.state.in.First(); first.several {
			return r.writeOne(w, first, sum)
		}
		c := t.state.in.Pop()
		if sum, err = r.writeTo(w, c.data, sum); err != nil {
			return sum, err
		}
		r.consumed(int(c.cost))
		t.remote.recycle(c.data)
		if begun = true; c.last {
			return sum, nil
		}
	}
}

// writeOne is receiveTo for a message that came among several.
func (r *receiver) writeOne(w io.Writer, first *chunk, sum int64) (int64, error) {
	t := r.t
	body, cost, over := first.cut()
	spare := first.data
	if first.lent || !over {
		spare = nil
	}
	if over {
		t.state.in.Pop()
	}
	sum, err := r.writeTo(w, body, sum)
	if err != nil {
		return sum, err
	}
	r.consumed(cost)
	if spare != nil {
		t.remote.recycle(spare)
	}
	return sum, nil
}

// writeTo hands data to w without mu.
func (r *receiver) writeTo(w io.Writer, data []byte, sum int64) (int64, error) {
	t := r.t
	t.unlock()
	n, err := 0, error(nil)
	if len(data) > 0 {
		n, err = w.Write(data)
	}
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	t.turn("tunnel.receive")
	t.mu.Lock()
	if err != nil {
		t.reset(wire.CauseProgram, patterns.CodeUnknown, "the receiver could not write on: "+err.Error())
	}
	return sum + int64(n), err
}

// torn is how the receiving of a message ends within it. What comes of it later
// must not be taken for a message of its own.
func (r *receiver) torn(err error, begun bool) error {
	var late *patterns.DeadlineError
	switch {
	case !begun:
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &late):
		r.t.reset(wire.CauseProgram, patterns.CodeUnknown, "the receiver gave up in the middle of a message")
	}
	return err
}

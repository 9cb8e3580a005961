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
	try    func(b []byte) int // see DeliverTo; nil = nobody has called it
	within bool               // who has the turn has written the beginning of a message
}

// DeliverTo has messages that come while somebody waits in ReceiveTo, with nothing
// before them, given to try by the goroutine that reads the link: so they need wake
// nobody. try says how many bytes it has taken, and must neither block nor keep the
// others: those, and what comes behind them, ReceiveTo writes. It is for streams of
// bytes, and is to be called once, before the first ReceiveTo.
func (t *Tunnel) DeliverTo(try func(b []byte) int) {
	t.mu.Lock()
	t.receiver.try = try
	t.mu.Unlock()
}

// deliver gives what has just come to try, if it may, and says whether all of it was
// taken. It releases mu meanwhile.
func (r *receiver) deliver() (all bool) {
	t, s := r.t, &r.t.state
	if r.try == nil || !r.wants || s.in.Len() != 1 || s.parted || r.within {
		return false
	}
	c := *s.in.First()
	if !c.last || c.several {
		return false
	}
	s.delivering = true
	t.do.Drop(changedIn)
	t.unlock()
	n := r.try(c.data)
	t.mu.Lock()
	s.delivering = false
	switch {
	case s.in.Len() == 0: // it was dropped meanwhile
		all = true
	case n == len(c.data):
		s.in.Pop()
		r.consumed(int(c.cost))
		all = true
	default:
		s.in.First().from = int32(n)
	}
	if s.next() != errNothing {
		t.do.Add(changedIn)
	}
	return all
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

// ReadPart copies to b what has come, of one message at most, and returns how many
// bytes those were. It waits while there are none. b is not empty. It is for streams of
// bytes: a part that b has no room for stays, and counts as not read. The error is
// patterns.ErrUnread instead of io.EOF if the other side closed both directions together,
// and had not read all that was sent.
func (t *Tunnel) ReadPart(ctx context.Context, b []byte) (n int, err error) {
	r := &t.receiver
	if err := r.enter(ctx, t, "tunnel.receive"); err != nil {
		return 0, err
	}
	for n == 0 && err == nil {
		if err = r.more(ctx); err == nil {
			n = r.copyTo(b)
		} else if err == io.EOF && t.state.cutOff {
			err = patterns.ErrUnread
		}
	}
	r.pass(t, "tunnel.receive.next")
	return n, err
}

// copyTo copies to b what it has room for of the first message.
func (r *receiver) copyTo(b []byte) int {
	first := r.t.state.in.First()
	n, cost, over := first.copyTo(b)
	if over {
		chunk := r.t.state.in.Pop()
		r.t.remote.recycle(chunk.data)
	}
	if cost > 0 {
		r.consumed(cost)
	}
	return n
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
	due := t.state.read(cost)
	if t.do.Add(t.state.settle()); !due {
		return
	}
	if w := &t.state.window; w.Turned() {
		w.Resize(t.engine.now(), t.engine.budget)
	}
	if t.state.window.Grant() {
		t.do.Add(giveCredit)
	}
}

func (r *receiver) receiveTo(ctx context.Context, w io.Writer) (sum int64, err error) {
	t := r.t
	defer func() { r.within = false }()
	begun := t.state.parted
	if r.within = begun; begun { // what Receive has collected has its credit back already
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
		if sum, err = r.writeTo(w, c.data[c.from:], sum); err != nil {
			return sum, err
		}
		r.consumed(int(c.cost))
		t.remote.recycle(c.data)
		if begun, r.within = true, true; c.last {
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

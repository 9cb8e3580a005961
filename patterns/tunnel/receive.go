// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Receive implements patterns.Tunnel. If ctx ends within a message, what came
// of it stays for the next call.
func (t *Tunnel) Receive(ctx context.Context) ([]byte, error) {
	if err := t.enter(ctx, &t.receivers, "tunnel.receive"); err != nil {
		return nil, err
	}
	for {
		body, whole, err := t.assemble()
		if !whole && err == nil {
			err = t.more(ctx)
		}
		if whole || err != nil {
			t.leave(&t.receivers, "tunnel.receive")
			return body, err
		}
	}
}

// chunk is a part of a message that came.
type chunk struct {
	data []byte
	last bool // of its message
}

// assemble takes chunks until a message is whole. mu is held.
func (t *Tunnel) assemble() (body []byte, whole bool, err error) {
	for t.in.Len() > 0 && t.ends.wanted != endingClosed {
		c := *t.in.First()
		if len(t.part)+len(c.data) > t.limit {
			return nil, false, fmt.Errorf("%w: the message has more than %d bytes: use ReceiveTo", patterns.ErrTooLarge, t.limit)
		}
		t.in.Pop()
		t.consumed(cost(len(c.data)))
		if c.last && !t.parted {
			return c.data, true, nil
		}
		t.part, t.parted = append(t.part, c.data...), true
		t.remote.recycle(c.data)
		if c.last {
			body = t.part
			t.part, t.parted = nil, false
			return body, true, nil
		}
	}
	return nil, false, nil
}

// more waits for a chunk. Errors say that none will come, or not in time. It
// returns with mu held.
func (t *Tunnel) more(ctx context.Context) error {
	for late := error(nil); ; {
		switch {
		case t.ends.wanted == endingClosed && t.ends.err == nil:
			return patterns.ErrClosed
		case t.in.Len() > 0:
			return nil
		case t.ends.err != nil:
			return t.ends.err
		case t.ends.heard > endingNone && t.parted:
			return io.ErrUnexpectedEOF
		case t.ends.heard > endingNone:
			return io.EOF
		case late != nil: // a handler's context ends with the tunnel, whose end says more
			return late
		}
		late = t.wait(ctx, &t.starving, &t.inBell, "tunnel.receive.over")
	}
}

// consumed notes that chunks of that cost were read, and gives credit for them.
// mu is held.
func (t *Tunnel) consumed(c int) {
	t.window.read(c)
	if t.over || t.ends.heard > endingNone {
		return // nobody sends any more
	}
	if t.window.streak >= t.window.size {
		t.resize()
	}
	if d := t.window.due(); d > 0 {
		t.window.give(d)
		t.todo |= giveCredit
	}
}

// resize changes the window after a whole one was read.
func (t *Tunnel) resize() {
	e := t.engine
	if _, fast := t.window.turned(e.now()); fast {
		t.window.size = e.grow(t.window.size)
	}
	if less := e.shrink(t.window.size); less < t.window.size && t.window.lent() <= less {
		e.giveBack(t.window.size - less)
		t.window.size = less
	}
}

// ReceiveTo implements patterns.Tunnel. Credit is given when w has taken a
// chunk, so a slow w slows the sender.
func (t *Tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	if err := t.enter(ctx, &t.receivers, "tunnel.receive"); err != nil {
		return 0, err
	}
	n, err := t.receiveTo(ctx, w)
	t.leave(&t.receivers, "tunnel.receive")
	return n, err
}

func (t *Tunnel) receiveTo(ctx context.Context, w io.Writer) (sum int64, err error) {
	begun := t.parted
	if begun { // what Receive has collected has its credit back already
		part := t.part
		t.part, t.parted = nil, false
		if sum, err = t.writeTo(w, part, sum); err != nil {
			return sum, err
		}
	}
	for {
		if err := t.more(ctx); err != nil {
			return sum, t.tornIn(err, begun)
		}
		c := t.in.Pop()
		if sum, err = t.writeTo(w, c.data, sum); err != nil {
			return sum, err
		}
		t.consumed(cost(len(c.data)))
		t.remote.recycle(c.data)
		if begun = true; c.last {
			return sum, nil
		}
	}
}

// writeTo hands data to w without mu.
func (t *Tunnel) writeTo(w io.Writer, data []byte, sum int64) (int64, error) {
	t.unlock(true)
	n, err := 0, error(nil)
	if len(data) > 0 {
		n, err = w.Write(data)
	}
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	t.take("tunnel.receive")
	t.mu.Lock()
	if err != nil {
		t.reset(wire.CauseProgram, patterns.CodeUnknown, "the receiver could not write on: "+err.Error())
	}
	return sum + int64(n), err
}

// tornIn is how the receiving of a message ends within it. What comes of it
// later must not be taken for a message of its own.
func (t *Tunnel) tornIn(err error, begun bool) error {
	var late *patterns.DeadlineError
	switch {
	case !begun:
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &late):
		t.reset(wire.CauseProgram, patterns.CodeUnknown, "the receiver gave up in the middle of a message")
	}
	return err
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// errCredit is how a relay breaks the protocol.
var errCredit = errors.New("client: the relay sends more than a tunnel has credit for")

// handleData takes a chunk from the relay, whose bytes are the tunnel's now.
func (t *tunnel) handleData(f *session.TunnelData) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return nil
	case t.ended:
		return errors.New("client: the relay sends data behind the end of a tunnel")
	case !t.inlet.came(len(f.Chunk)):
		return errCredit
	}
	t.in.Push(piece{data: f.Chunk, last: f.Last})
	if t.ending == endingClosed {
		t.dropIn()
		return nil
	}
	notify(&t.inChange)
	return nil
}

// dropIn throws away what was not received. The caller holds mu.
func (t *tunnel) dropIn() {
	for t.in.Len() > 0 {
		t.consumed(len(t.in.Pop().data))
	}
	t.part, t.partSize = nil, 0
}

// handleEnd takes the end of the other side's direction. If that does not read
// any more, so does this one end.
func (t *tunnel) handleEnd(f *session.TunnelEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if f.Closed {
		t.ending = max(t.ending, endingSend)
		t.told = endingClosed
	}
	notify(&t.inChange)
	t.settle()
}

// handleReset takes the end of both.
func (t *tunnel) handleReset(f *session.TunnelReset) {
	t.fail(failure.TunnelError(f.Failure), f.Outcome == session.OutcomeRemoteError)
}

// consumed gives credit for a chunk that was read.
func (t *tunnel) consumed(n int) {
	if t.inlet.consumed(n, t.in.Len() == 0) {
		t.ready()
	}
}

// beginReceive waits for the caller's turn.
func (t *tunnel) beginReceive(ctx context.Context) error {
	for t.receiving {
		if err := t.wait(ctx, &t.inChange); err != nil {
			return err
		}
	}
	t.receiving = true
	return nil
}

func (t *tunnel) endReceive() {
	t.receiving = false
	notify(&t.inChange)
}

// more waits for a chunk. Errors say that none will come, or not in time.
func (t *tunnel) more(ctx context.Context) error {
	for {
		switch {
		case t.ending == endingClosed:
			return patterns.ErrClosed
		case t.in.Len() > 0:
			return nil
		case t.ended && t.partSize == 0 && t.part == nil:
			return io.EOF
		case t.err != nil:
			return t.err
		case t.ended: // within a message
			return io.ErrUnexpectedEOF
		}
		if err := t.wait(ctx, &t.inChange); err != nil {
			return err
		}
	}
}

// Receive implements patterns.Tunnel.
func (t *tunnel) Receive(ctx context.Context) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.beginReceive(ctx); err != nil {
		return nil, err
	}
	defer t.endReceive()
	for {
		if err := t.more(ctx); err != nil {
			return nil, err
		}
		if n := t.partSize + len(t.in.First().data); n > t.limit {
			return nil, fmt.Errorf("%w: the message has more than %d bytes: use ReceiveTo", patterns.ErrTooLarge, t.limit)
		}
		p := t.in.Pop()
		t.consumed(len(p.data))
		if p.last && t.part == nil {
			return p.data, nil
		}
		t.part = append(t.part, p.data)
		t.partSize += len(p.data)
		if p.last {
			body := bytes.Join(t.part, nil)
			for _, data := range t.part {
				t.attachment.reader.Reuse(data)
			}
			t.part, t.partSize = nil, 0
			return body, nil
		}
	}
}

// ReceiveTo implements patterns.Tunnel.
func (t *tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.beginReceive(ctx); err != nil {
		return 0, err
	}
	defer t.endReceive()
	var n int64
	// What Receive has collected of a message that was too large for it has
	// its credit back already.
	for len(t.part) > 0 {
		data := t.part[0]
		t.part = t.part[1:]
		if err := t.write(w, data, &n); err != nil {
			return n, err
		}
	}
	t.part, t.partSize = nil, 0
	for {
		if err := t.more(ctx); err != nil {
			return n, t.torn(err, n)
		}
		p := t.in.Pop()
		if err := t.write(w, p.data, &n); err != nil {
			return n, err
		}
		t.consumed(len(p.data))
		t.attachment.reader.Reuse(p.data)
		if p.last {
			return n, nil
		}
	}
}

// write hands data to w without the lock, and counts it.
func (t *tunnel) write(w io.Writer, data []byte, n *int64) error {
	t.mu.Unlock()
	written, err := w.Write(data)
	if err == nil && written < len(data) {
		err = io.ErrShortWrite
	}
	t.mu.Lock()
	*n += int64(written)
	if err != nil {
		t.resetLocked(patterns.CodeUnknown, "the receiver could not write on: "+err.Error())
	}
	return err
}

// torn is how the receiving of a message ends within it. What comes of it later
// must not be taken for a message of its own.
func (t *tunnel) torn(err error, n int64) error {
	if n == 0 {
		return err
	}
	var late *patterns.DeadlineError
	if errors.As(err, &late) {
		t.resetLocked(patterns.CodeUnknown, "the receiver gave up in the middle of a message")
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

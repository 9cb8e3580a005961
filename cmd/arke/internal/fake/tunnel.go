// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"io"
	"sync"

	"github.com/arke-mesh/arke/patterns"
)

// Pair returns the two ends of a tunnel. Each direction holds at most credit
// bytes that the other end has not received, or one message.
func Pair(credit int) (caller, member *Tunnel) {
	p := &pair{credit: credit}
	p.changed = sync.NewCond(&p.mu)
	there, back := &direction{}, &direction{}
	caller = &Tunnel{pair: p, out: there, in: back, done: make(chan struct{})}
	member = &Tunnel{pair: p, out: back, in: there, done: make(chan struct{})}
	caller.other, member.other = member, caller
	return caller, member
}

// pair is what both ends share.
type pair struct {
	// Immutable after creation.
	credit int

	mu      sync.Mutex
	changed *sync.Cond
}

// direction is what one end sends. Guarded by pair.mu.
type direction struct {
	queue  [][]byte
	bytes  int
	closed bool // nothing more is sent
	gone   bool // nobody receives
}

// Tunnel is one end.
type Tunnel struct {
	pair    *pair
	out, in *direction
	other   *Tunnel
	done    chan struct{}

	// Guarded by pair.mu.
	err   error // why it ended, if not in good order
	ended bool
}

var _ patterns.Tunnel = (*Tunnel)(nil)

// Info implements patterns.Tunnel.
func (t *Tunnel) Info() patterns.TunnelInfo { return patterns.TunnelInfo{} }

// Send implements patterns.Tunnel.
func (t *Tunnel) Send(ctx context.Context, body []byte) error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	return t.wait(ctx, func() (bool, error) { return t.offer(body) })
}

// TrySend implements patterns.Tunnel.
func (t *Tunnel) TrySend(body []byte) error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	ok, err := t.offer(body)
	if err == nil && !ok {
		return patterns.ErrWouldBlock
	}
	return err
}

// offer queues the message if there is credit for it.
func (t *Tunnel) offer(body []byte) (bool, error) {
	switch {
	case t.err != nil:
		return false, t.err
	case t.out.closed:
		return false, patterns.ErrClosed
	case t.out.gone:
		return false, patterns.ErrPeerClosed
	case t.out.bytes > 0 && t.out.bytes+len(body) > t.pair.credit:
		return false, nil
	}
	t.out.queue = append(t.out.queue, append([]byte{}, body...))
	t.out.bytes += len(body)
	t.pair.changed.Broadcast()
	return true, nil
}

// SendFrom implements patterns.Tunnel.
func (t *Tunnel) SendFrom(ctx context.Context, r io.Reader) (int64, error) {
	body, err := io.ReadAll(r)
	if err == nil {
		err = t.Send(ctx, body)
	}
	return int64(len(body)), err
}

// Receive implements patterns.Tunnel.
func (t *Tunnel) Receive(ctx context.Context) ([]byte, error) {
	body, err := t.take(ctx)
	t.giveBack(len(body))
	return body, err
}

// ReceiveTo implements patterns.Tunnel: credit comes back when w has it.
func (t *Tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	body, err := t.take(ctx)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(body)
	if err != nil {
		_ = t.Reset(patterns.CodeUnknown, err.Error())
		return int64(n), err
	}
	t.giveBack(n)
	return int64(n), nil
}

func (t *Tunnel) take(ctx context.Context) (body []byte, err error) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	err = t.wait(ctx, func() (bool, error) {
		switch {
		case t.err != nil:
			return false, t.err
		case t.in.gone:
			return false, patterns.ErrClosed
		case len(t.in.queue) > 0:
			body, t.in.queue = t.in.queue[0], t.in.queue[1:]
			return true, nil
		case t.in.closed:
			t.settle()
			return false, io.EOF
		}
		return false, nil
	})
	return body, err
}

func (t *Tunnel) giveBack(n int) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	t.in.bytes -= n
	t.pair.changed.Broadcast()
}

// wait calls f, holding the lock, until it is done, fails, or ctx ends.
func (t *Tunnel) wait(ctx context.Context, f func() (bool, error)) error {
	stop := context.AfterFunc(ctx, func() {
		t.pair.mu.Lock()
		defer t.pair.mu.Unlock()
		t.pair.changed.Broadcast()
	})
	defer stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &patterns.DeadlineError{Cause: ctx.Err()}
		}
		t.pair.changed.Wait()
	}
}

// CloseSend implements patterns.Tunnel.
func (t *Tunnel) CloseSend() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	t.out.closed = true
	t.settle()
	t.other.settle()
	t.pair.changed.Broadcast()
	return nil
}

// Reset implements patterns.Tunnel.
func (t *Tunnel) Reset(code patterns.Code, text string) error {
	t.breaks(patterns.ErrClosed, &patterns.TunnelError{Code: code, Message: text})
	return nil
}

// Lose ends both directions as the loss of the other node does.
func (t *Tunnel) Lose() { t.breaks(patterns.ErrInterrupted, patterns.ErrInterrupted) }

// breaks ends both directions, and says on either side why.
func (t *Tunnel) breaks(here, there error) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	t.end(here)
	t.other.end(there)
	t.pair.changed.Broadcast()
}

// Close implements patterns.Tunnel.
func (t *Tunnel) Close() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	t.out.closed, t.in.gone = true, true
	t.in.queue, t.in.bytes = nil, 0
	t.settle()
	t.other.settle()
	t.pair.changed.Broadcast()
	return nil
}

// settle notices that both directions have ended in good order.
func (t *Tunnel) settle() {
	if (t.out.closed || t.out.gone) && (t.in.gone || t.in.closed && len(t.in.queue) == 0) {
		t.end(nil)
	}
}

func (t *Tunnel) end(err error) {
	if t.ended {
		return
	}
	t.ended, t.err = true, err
	close(t.done)
}

// Done implements patterns.Tunnel.
func (t *Tunnel) Done() <-chan struct{} { return t.done }

// Err implements patterns.Tunnel.
func (t *Tunnel) Err() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	return t.err
}

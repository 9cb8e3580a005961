// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/patterns"
)

const (
	tunnelWindow = 64 << 10
	maxChunk     = 64 << 10
)

// pair is both sides of a tunnel.
type pair struct {
	mu   sync.Mutex
	over func() // called once, when both sides are over
}

// Tunnel is one side of a tunnel, also as a relay sees it.
type Tunnel struct {
	pair     *pair
	peer     *Tunnel
	info     patterns.TunnelInfo
	limit    int // of a message that Receive returns
	detached atomic.Bool
	done     chan struct{}

	// Guarded by pair.mu.
	credit    int // bytes that this side may send
	offered   int // bytes of the chunk that Offer refused which went nevertheless
	in        []chunk
	ended     bool  // this side has ended its direction
	closed    bool  // this side reads no more
	err       error // why the tunnel ended, if not in good order
	over      bool
	changed   chan struct{} // closed when anything changes; nil = nobody waits
	notify    func()
	notifying bool
	again     bool // notify is due once more
}

type chunk struct {
	data []byte
	last bool
}

var _ patterns.TunnelSource = (*Tunnel)(nil)

func newPair(limit, window int) (a, b *Tunnel) {
	p := &pair{}
	a = &Tunnel{pair: p, limit: limit, credit: window, done: make(chan struct{})}
	b = &Tunnel{pair: p, limit: limit, credit: window, done: make(chan struct{}), peer: a}
	a.peer = b
	return a, b
}

// change tells whoever waits at this side. The caller holds mu.
func (t *Tunnel) change() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	if t.notify == nil {
		return
	}
	if t.notifying {
		t.again = true
		return
	}
	t.notifying, t.again = true, true
	go t.notifyAll() // a caller of ours may hold locks
}

func (t *Tunnel) notifyAll() {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	for t.again {
		t.again = false
		f := t.notify
		t.pair.mu.Unlock()
		f()
		t.pair.mu.Lock()
	}
	t.notifying = false
}

// wait releases mu until something changes or ctx ends.
func (t *Tunnel) wait(ctx context.Context) error {
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	changed := t.changed
	t.pair.mu.Unlock()
	defer t.pair.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return &patterns.DeadlineError{Cause: ctx.Err()}
	}
}

// settle notices that both directions have ended. The caller holds mu.
func (t *Tunnel) settle() {
	for _, side := range []*Tunnel{t, t.peer} {
		if !side.over && (side.err != nil || side.ended && side.peer.ended) {
			side.over = true
			close(side.done)
		}
		side.change()
	}
	if t.over && t.peer.over && t.pair.over != nil {
		go t.pair.over()
		t.pair.over = nil
	}
}

// end ends both sides at once.
func (t *Tunnel) end(here, there error) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	if t.over {
		return
	}
	t.err, t.in = here, nil
	if !t.peer.over {
		t.peer.err, t.peer.in = there, nil
	}
	t.settle()
}

// Interrupt ends both sides as a lost link does.
func (t *Tunnel) Interrupt() { t.end(patterns.ErrInterrupted, patterns.ErrInterrupted) }

// Info implements patterns.Tunnel.
func (t *Tunnel) Info() patterns.TunnelInfo { return t.info }

// Reset implements patterns.Tunnel.
func (t *Tunnel) Reset(code patterns.Code, text string) error {
	t.end(patterns.ErrClosed, &patterns.TunnelError{Code: code, Message: text})
	return nil
}

// CloseSend implements patterns.Tunnel.
func (t *Tunnel) CloseSend() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	t.ended = true
	t.settle()
	return nil
}

// Close implements patterns.Tunnel.
func (t *Tunnel) Close() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	for _, c := range t.in {
		t.peer.credit += len(c.data)
	}
	t.ended, t.closed, t.in = true, true, nil
	t.peer.ended = true // nobody would read it
	t.settle()
	return nil
}

// Done implements patterns.Tunnel.
func (t *Tunnel) Done() <-chan struct{} { return t.done }

// Err implements patterns.Tunnel.
func (t *Tunnel) Err() error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	return t.err
}

// sendErr says why nothing can be sent. The caller holds mu.
func (t *Tunnel) sendErr() error {
	if t.err == nil && t.ended {
		return patterns.ErrClosed
	}
	return t.err
}

// put hands a chunk to the other side, which keeps a copy. The caller holds mu.
func (t *Tunnel) put(body []byte, last bool) {
	if t.peer.closed || len(body) == 0 && !last {
		return
	}
	t.credit -= len(body)
	t.peer.in = append(t.peer.in, chunk{bytes.Clone(body), last})
	t.peer.change()
}

// Send implements patterns.Tunnel.
func (t *Tunnel) Send(ctx context.Context, body []byte) error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	for {
		if err := t.sendErr(); err != nil {
			return err
		}
		n := min(len(body), maxChunk, t.credit)
		if n > 0 || len(body) == 0 {
			t.put(body[:n], n == len(body))
			if n == len(body) {
				return nil
			}
			body = body[n:]
			continue
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
}

// TrySend implements patterns.Tunnel.
func (t *Tunnel) TrySend(body []byte) error {
	t.pair.mu.Lock()
	room := len(body) <= min(maxChunk, t.credit)
	t.pair.mu.Unlock()
	if !room {
		return patterns.ErrWouldBlock
	}
	return t.Offer(body, true)
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
	var body bytes.Buffer
	if _, err := t.ReceiveTo(ctx, &body); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// ReceiveTo implements patterns.Tunnel.
func (t *Tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	var n int64
	for {
		data, last, more, err := t.Take()
		switch {
		case err != nil:
			return n, err
		case more:
			t.Return(len(data))
			w.Write(data)
			n += int64(len(data))
			if last {
				return n, nil
			}
			continue
		}
		t.pair.mu.Lock()
		if len(t.in) == 0 && t.err == nil && !t.peer.ended {
			err = t.wait(ctx)
		}
		t.pair.mu.Unlock()
		if err != nil {
			return n, err
		}
	}
}

// Detach implements patterns.TunnelSource.
func (t *Tunnel) Detach() { t.detached.Store(true) }

// Notify implements patterns.TunnelSource.
func (t *Tunnel) Notify(f func()) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	t.notify = f
	t.change()
}

// Take implements patterns.TunnelSource.
func (t *Tunnel) Take() (data []byte, last, more bool, err error) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, false, false, t.err
	case t.closed:
		return nil, false, false, patterns.ErrClosed
	case len(t.in) > 0:
		c := t.in[0]
		t.in[0] = chunk{}
		if t.in = t.in[1:]; len(t.in) == 0 {
			t.in = nil
		}
		return c.data, c.last, true, nil
	case t.peer.ended:
		return nil, false, false, io.EOF
	}
	return nil, false, false, nil
}

// Return implements patterns.TunnelSource.
func (t *Tunnel) Return(n int) {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	t.peer.credit += n
	t.peer.change()
}

// Recycle implements patterns.TunnelSource. What is given back is spoilt, so that
// whoever looks at it still is found out.
func (t *Tunnel) Recycle(data []byte) {
	for i := range data {
		data[i] = 0xdd
	}
}

// Offer implements patterns.TunnelSource.
func (t *Tunnel) Offer(data []byte, last bool) error {
	t.pair.mu.Lock()
	defer t.pair.mu.Unlock()
	if err := t.sendErr(); err != nil {
		return err
	}
	rest := data[t.offered:]
	if len(rest) > t.credit {
		t.offered += t.credit
		t.put(rest[:t.credit], false)
		return patterns.ErrWouldBlock
	}
	t.offered = 0
	t.put(rest, last)
	return nil
}

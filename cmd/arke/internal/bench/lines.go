// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"

	"github.com/arke-mesh/arke/patterns"
)

// Lines are tunnels to members that answer each message with one, in order.
type Lines struct {
	lines []*tunnelLine
	work  sync.WaitGroup
}

// NewLines takes over the tunnels.
func NewLines(tunnels []patterns.Tunnel) *Lines {
	l := &Lines{}
	for _, t := range tunnels {
		one := &tunnelLine{tunnel: t, sending: make(chan struct{}, 1)}
		l.lines = append(l.lines, one)
		l.work.Go(one.receive)
	}
	return l
}

// Close ends the tunnels and waits.
func (l *Lines) Close() {
	for _, one := range l.lines {
		_ = one.tunnel.Reset(patterns.CodeUnknown, "measured")
	}
	l.work.Wait()
}

// Do sends body through tunnel n modulo their number and waits for the answer.
func (l *Lines) Do(ctx context.Context, n int, body []byte) (member string, err error) {
	one := l.lines[n%len(l.lines)]
	return one.tunnel.Info().Member, one.do(ctx, body)
}

// tunnelLine is one tunnel and those that wait for its answers.
type tunnelLine struct {
	tunnel  patterns.Tunnel
	sending chan struct{} // held while a message is sent

	mu sync.Mutex
	// Guarded by mu.
	waiting []*waiter
	err     error // why no more answers come
}

// waiter is one message whose answer is not there.
type waiter struct {
	size int
	done chan error // of room for one
}

func (t *tunnelLine) do(ctx context.Context, body []byte) error {
	select {
	case t.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	w := &waiter{size: len(body), done: make(chan error, 1)}
	err := t.send(ctx, body, w)
	<-t.sending
	if err != nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send queues w before its message: the answer may be fast.
func (t *tunnelLine) send(ctx context.Context, body []byte, w *waiter) error {
	t.mu.Lock()
	if t.err != nil {
		defer t.mu.Unlock()
		return t.err
	}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	err := t.tunnel.Send(ctx, body)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Nothing was queued behind it, since we hold sending.
	if n := len(t.waiting); n > 0 && t.waiting[n-1] == w {
		t.waiting = t.waiting[:n-1]
	}
	return err
}

// receive gives each answer to who has waited longest.
func (t *tunnelLine) receive() {
	for {
		answer, err := t.tunnel.Receive(context.Background())
		t.mu.Lock()
		if err != nil {
			t.err = err
			for _, w := range t.waiting {
				w.done <- err
			}
			t.waiting = nil
			t.mu.Unlock()
			return
		}
		if len(t.waiting) == 0 {
			t.mu.Unlock()
			continue // an answer to nothing
		}
		w := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.mu.Unlock()
		if len(answer) != w.size {
			w.done <- fmt.Errorf("a message of %d bytes was answered with %d: the member is no echo", w.size, len(answer))
			continue
		}
		w.done <- nil
	}
}

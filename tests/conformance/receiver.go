// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/patterns"
)

// receiver is what a check has at the other end: it writes down each message,
// and is done with it when the gate is open.
type receiver struct {
	gate    chan struct{}         // closed = open
	entered chan patterns.Message // each message, when it comes
	panics  atomic.Bool           // the next one

	once sync.Once

	mu   sync.Mutex
	got  []patterns.Message // guarded by mu; those that it is done with
	gaps []patterns.Gap     // guarded by mu
}

// newReceiver returns one whose gate is open, or shut.
func newReceiver(open bool) *receiver {
	r := &receiver{gate: make(chan struct{}), entered: make(chan patterns.Message, 64)}
	if open {
		r.open()
	}
	return r
}

func (r *receiver) open() { r.once.Do(func() { close(r.gate) }) }

// take is called by the handlers of all patterns.
func (r *receiver) take(ctx context.Context, m patterns.Message) {
	r.entered <- m
	if r.panics.Swap(false) {
		panic("a handler that fails")
	}
	select {
	case <-r.gate:
	case <-ctx.Done():
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
}

// done returns how many messages it is done with, and the gaps.
func (r *receiver) done() (n int, gaps []patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got), r.gaps
}

// ServePublication implements patterns.Subscriber.
func (r *receiver) ServePublication(p *patterns.Publication) {
	r.take(context.Background(), patterns.Message{Headers: p.Headers, Body: p.Body})
}

// ServeGap implements patterns.Subscriber.
func (r *receiver) ServeGap(g patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, g)
}

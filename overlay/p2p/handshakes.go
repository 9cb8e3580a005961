// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"sync"
	"time"
)

// underPressure is how long a handshake may take when others wait for its
// place. A storm of honest nodes waits in the kernel for that long at most;
// connections that say nothing hold their places no longer.
const underPressure = time.Second

// handshakes bounds how many accepted connections are in their handshake: the
// only work that peers get out of us before they are admitted.
type handshakes struct {
	max      int
	timeout  time.Duration
	counters *counters

	// Guarded by mu.
	mu      sync.Mutex
	closed  bool
	running map[*handshake]struct{}
	freed   chan struct{} // closed and replaced when a place is free again
}

type handshake struct {
	begun  time.Time
	cancel context.CancelFunc
}

func newHandshakes(maximum int, timeout time.Duration, c *counters) *handshakes {
	return &handshakes{
		max: maximum, timeout: timeout, counters: c,
		running: make(map[*handshake]struct{}),
		freed:   make(chan struct{}),
	}
}

// begin waits for a place. The context that it returns bounds the handshake;
// done gives the place back. It fails when ctx ends, or with ErrClosed.
func (h *handshakes) begin(ctx context.Context) (_ context.Context, done func(), _ error) {
	for {
		limited, place, freed, wait := h.take(ctx)
		switch {
		case place != nil:
			return limited, func() { h.end(place) }, nil
		case freed == nil:
			return nil, nil, ErrClosed
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
			h.evict()
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
}

// take returns a place; or, if there is none, what to wait for; or nothing
// after close.
func (h *handshakes) take(ctx context.Context) (context.Context, *handshake, <-chan struct{}, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, nil, 0
	}
	if len(h.running) < h.max {
		limited, cancel := context.WithTimeout(ctx, h.timeout)
		place := &handshake{time.Now(), cancel}
		h.running[place] = struct{}{}
		return limited, place, nil, 0
	}
	wait := underPressure
	for place := range h.running {
		wait = min(wait, time.Until(place.begun.Add(underPressure)))
	}
	return nil, nil, h.freed, wait
}

// evict ends the handshakes that have taken too long for a busy time.
func (h *handshakes) evict() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for place := range h.running {
		if time.Since(place.begun) >= underPressure {
			h.counters.add(countHandshakeEvicted)
			h.remove(place)
		}
	}
}

// close ends all handshakes; there will be no more.
func (h *handshakes) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for place := range h.running {
		h.remove(place)
	}
}

func (h *handshakes) end(place *handshake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(place)
}

// remove needs mu.
func (h *handshakes) remove(place *handshake) {
	place.cancel()
	if _, ok := h.running[place]; ok {
		delete(h.running, place)
		close(h.freed)
		h.freed = make(chan struct{})
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"sync"
)

// life is that of a client, from its Hello until nothing is left of its session.
type life struct {
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	gone   chan struct{} // closed when nothing is left of the session

	wg sync.WaitGroup // what runs for the client
	// Guarded by mu.
	mu   sync.Mutex
	over bool // nothing more is run: wg is being waited for
}

func newLife(parent context.Context) *life {
	l := &life{gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(parent)
	return l
}

// enter counts something that runs for the client, unless it is too late; wg.Done
// is its end.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.wg.Add(1)
	}
	return !l.over
}

// settle runs nothing more, and waits for what does.
func (l *life) settle() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.wg.Wait()
}

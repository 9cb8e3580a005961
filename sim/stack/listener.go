// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"net"
	"sync"
)

// backlog bounds the connections that wait for Accept; more are refused.
const backlog = 4096

// listener accepts connections. Guarded by network.mu.
type listener struct {
	proc    *process // immutable
	port    uint16   // immutable
	ready   []*end
	closed  bool
	waiting *sync.Cond
}

var _ net.Listener = (*listener)(nil)

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	mu := &l.proc.machine.net.mu
	mu.Lock()
	defer mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
		case len(l.ready) > 0 && !l.proc.frozen:
			e := l.ready[0]
			l.ready = l.ready[1:]
			return e, nil
		}
		l.waiting.Wait()
	}
}

// offer has Accept return e; false means that there is no place. It needs mu,
// and a process that runs.
func (l *listener) offer(e *end) bool {
	if l.closed || len(l.ready) >= backlog {
		return false
	}
	l.ready = append(l.ready, e)
	l.waiting.Broadcast()
	return true
}

// Close implements net.Listener. Connections that were not accepted are reset.
func (l *listener) Close() error {
	mu := &l.proc.machine.net.mu
	mu.Lock()
	defer mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	l.closed = true
	delete(l.proc.listeners, l.port)
	l.drop()
	l.waiting.Broadcast()
	return nil
}

// drop resets what was not accepted. It needs mu.
func (l *listener) drop() {
	for _, e := range l.ready {
		e.shut()
	}
	l.ready = nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.proc.machine.addr(l.port) }

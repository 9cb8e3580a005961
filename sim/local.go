// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// localLatency is what one write on a local socket takes: two processes of one
// machine have to run.
const localLatency = 20 * time.Microsecond

// Client returns the seam of a program that is no node: its clock, its random
// numbers and its Exec. Of the network it has local sockets only: see DialLocal.
// Calling it again after the program has crashed, or its Transport was closed,
// restarts it. It panics if the program still runs.
func (n *Network) Client(name string) overlay.Seam {
	n.mu.Lock()
	n.host(name).local = true
	n.mu.Unlock()
	return n.Seam(name)
}

// socket is where a process takes programs of its machine in. Guarded by
// Network.mu.
type socket struct {
	p       *process
	backlog []*local
	closed  bool
	ready   *sync.Cond
}

// ListenLocal opens the local socket of the node of that name, which runs: what
// it accepts are the other ends of DialLocal. It ends with the node, and a node
// has one at most.
func (n *Network) ListenLocal(name string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.host(name).proc
	switch {
	case p == nil || p.state != stateUp:
		return nil, ErrDown
	case p.socket != nil:
		return nil, syscall.EADDRINUSE
	}
	p.socket = &socket{p: p, ready: sync.NewCond(&n.mu)}
	return p.socket, nil
}

// Accept implements net.Listener.
func (s *socket) Accept() (net.Conn, error) {
	s.p.n.mu.Lock()
	defer s.p.n.mu.Unlock()
	for {
		switch {
		case s.closed:
			return nil, net.ErrClosed
		case len(s.backlog) > 0:
			c := s.backlog[0]
			s.backlog = s.backlog[1:]
			return c, nil
		}
		s.ready.Wait()
	}
}

// Close implements net.Listener.
func (s *socket) Close() error {
	s.p.n.mu.Lock()
	defer s.p.n.mu.Unlock()
	s.close()
	return nil
}

func (s *socket) close() {
	if s == nil || s.closed {
		return
	}
	s.closed = true
	if s.p.socket == s {
		s.p.socket = nil
	}
	if s.p.n.stopped {
		s.ready.Broadcast()
		return
	}
	s.p.n.soon(s.p.key(kindWake, 0, 0), s.ready.Broadcast)
}

// Addr implements net.Listener.
func (s *socket) Addr() net.Addr { return localAddr(s.p.host.name) }

func localAddr(name string) net.Addr { return &net.UnixAddr{Name: name, Net: "unix"} }

// DialLocal connects the program of that name to a node's local socket. As with
// a unix socket, the error wraps syscall.ECONNREFUSED if nobody listens there.
// Who reads gets what the other end has written before it closed or died, and
// then io.EOF; who writes then gets an error.
func (n *Network) DialLocal(ctx context.Context, from, to string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, h := n.host(from).proc, n.host(to)
	if p == nil || !p.host.local || h.local {
		return nil, fmt.Errorf("%w: %s is no client, or %s is one", ErrRefused, from, to)
	}
	err := p.dialTo(ctx, h)
	conns := p.conns[h.index]
	switch {
	case errors.Is(err, ErrRefused):
		return nil, fmt.Errorf("%w: %w", err, syscall.ECONNREFUSED)
	case err != nil:
		return nil, err
	case len(conns) == 0:
		return nil, fmt.Errorf("%w: %w", ErrConnLost, syscall.ECONNRESET)
	}
	return &local{conns[len(conns)-1].openStream(p)}, nil
}

// local is one end of a connection through a local socket: the only stream of a
// conn.
type local struct{ *stream }

var _ net.Conn = (*local)(nil)

// Close implements net.Conn.
func (l *local) Close() error {
	err := l.stream.Close()
	l.c.n.mu.Lock()
	defer l.c.n.mu.Unlock()
	l.c.breakEnd(l.end, net.ErrClosed, true)
	return err
}

// LocalAddr implements net.Conn.
func (l *local) LocalAddr() net.Addr { return localAddr(l.c.ends[l.end].host.name) }

// RemoteAddr implements net.Conn.
func (l *local) RemoteAddr() net.Addr { return localAddr(l.c.ends[1-l.end].host.name) }

// SetDeadline implements net.Conn.
func (l *local) SetDeadline(t time.Time) error {
	return errors.Join(l.SetReadDeadline(t), l.SetWriteDeadline(t))
}

// local says whether c is one through a local socket.
func (c *conn) local() bool { return c.ends[0].host.local }

// accepts says whether q takes a connection of that process in.
func (q *process) accepts(from *process) bool {
	if from.host.local {
		return q != nil && q.state == stateUp && q.socket != nil
	}
	return q.up() && q.n.admits(from.host, q.host)
}

// enter hands a connection that a program has opened to who listens.
func (p *process) enter(s *stream) {
	if p.socket == nil {
		s.c.breakEnd(s.end, ErrConnLost, true)
		return
	}
	p.socket.backlog = append(p.socket.backlog, &local{s})
	p.socket.ready.Broadcast()
}

// hangUp ends a local stream whose other end is gone: what has come can still be
// read.
func (s *stream) hangUp() {
	if !s.ended {
		s.ended = true
		s.wake(&s.readBy)
	}
	if s.writeErr == nil {
		s.writeErr = syscall.EPIPE
		s.wake(&s.writeBy)
	}
	s.settle()
}

// Break resets every connection between a node of a and one of b; those of a
// client are the ones through its local socket. Both ends may connect again at
// once.
func (n *Network) Break(a, b []string) {
	n.inject("break "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		for _, from := range a {
			for _, to := range b {
				n.breakAll(n.host(from), n.host(to))
			}
		}
	})
}

func (n *Network) breakAll(a, b *host) {
	if a.proc == nil || a == b {
		return
	}
	for _, c := range slices.Clone(a.proc.conns[b.index]) {
		c.breakEnd(c.endOf(a.proc), ErrConnLost, true)
	}
}

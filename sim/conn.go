// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// conn is one connection between two processes: end 0 dialled, end 1
// accepted. What one end sends arrives at the other in order, over all
// streams, as on one TCP connection. Guarded by Network.mu.
type conn struct {
	n       *Network
	ends    [2]*process
	number  uint64       // among the connections dialled this way
	open    [2]bool      // this end believes that it stands
	flows   [2]flow      // what this end sent
	streams [2][]*stream // alive at this end, by age
	opened  [2]uint64    // streams this end has opened
	ended   [2]bool      // this end's close waits for its commit, or was sent
	bounced bool         // an end that is gone has answered with a reset
	keys    [2]uint32    // version of the network's key by which this end has admitted the other
	retired [2]bool      // this end has another one take its place
}

func newConn(dialer, acceptor *process, number uint64) *conn {
	c := &conn{n: dialer.n, ends: [2]*process{dialer, acceptor}, number: number}
	for end := range c.flows {
		c.flows[end] = flow{c: c, end: end, lost: -1, unheard: -1}
	}
	return c
}

// key makes the key of an event about stream s of c, or about c itself, at
// one end.
func (c *conn) key(k kind, end int, stream uint64) key {
	n := c.number<<32 | stream&0x7fffffff
	if end == 0 {
		n |= 1 << 31
	}
	return c.ends[end].key(k, c.ends[1-end].host.index, n)
}

// path returns the direction in which end sends.
func (c *conn) path(end int) *path {
	return c.n.path(c.ends[end].host, c.ends[1-end].host)
}

// breakEnd ends the connection at one end: its streams fail with err, and the
// last connection to a peer ends in PeerDown. The other end learns of it after
// everything that was sent before, if tell is set.
func (c *conn) breakEnd(end int, err error, tell bool) {
	if !c.open[end] {
		return
	}
	c.open[end] = false
	for _, s := range slices.Clone(c.streams[end]) {
		s.fail(err)
	}
	c.ends[end].detach(c, end)
	if tell {
		c.end(end)
	}
}

// end tells the other end that this one is gone.
func (c *conn) end(end int) {
	if !c.ended[end] {
		c.ended[end] = true
		c.n.send(&ending{c: c, end: end})
	}
}

// ending is the commit of a connection's end; it comes after those of the
// connection's streams.
type ending struct {
	c   *conn
	end int
}

func (e *ending) order() key { return e.c.key(kindConnDown, 1-e.end, math.MaxUint64) }

func (e *ending) commit() {
	if p := e.c.path(e.end); p.carries(e.c, e.end) {
		p.parcels = append(p.parcels, &parcel{ending: e.c, sender: e.end})
		return
	}
	e.c.sendEnd(e.end)
}

// sendEnd has the other end learn that this one is gone.
func (c *conn) sendEnd(end int) {
	to := 1 - end
	c.flows[end].send(c.key(kindConnDown, to, 0), 0, 0, func() {
		if c.ends[to].state == stateUp {
			c.breakEnd(to, ErrConnLost, false)
		}
	})
}

// bounce answers something that arrived at an end which is gone with a reset,
// as a host does: the sender need not wait until the news of the end itself,
// which may have been lost, is sent again.
func (c *conn) bounce(sender int) {
	to := 1 - sender
	if c.open[to] || !c.ended[to] || !c.open[sender] || c.bounced || c.ends[to].state == stateSilent || c.path(to).blocked() {
		return
	}
	takes, ok := c.path(to).flight()
	if !ok {
		return // the next one may get through
	}
	c.bounced = true
	c.n.after(takes, c.key(kindConnDown, sender, 1), func() {
		if c.ends[sender].state == stateUp {
			c.breakEnd(sender, ErrConnLost, false)
		}
	})
}

// expire breaks the connection at one end when the keepalive runs out, unless
// by then both directions work again.
func (c *conn) expire(end int) {
	armed := c.n.now()
	c.n.after(c.n.cfg.DeadAfter, c.key(kindExpire, end, 0), func() {
		lasts := func(p *path) bool { return p.blocked() && p.since <= armed }
		if lasts(c.path(end)) || lasts(c.path(1-end)) || c.ends[1-end].state == stateSilent {
			c.breakEnd(end, ErrConnLost, true)
		}
	})
}

// lose breaks the connection at one end when the keepalive runs out: the other end is
// gone for good.
func (c *conn) lose(end int) {
	c.n.after(c.n.cfg.DeadAfter, c.key(kindExpire, end, 0), func() { c.breakEnd(end, ErrConnLost, false) })
}

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

// PeerGone says that the process at the other end has ended, as the system knows
// of two processes of one machine.
func (l *local) PeerGone() bool {
	l.stream.c.n.mu.Lock()
	defer l.stream.c.n.mu.Unlock()
	return l.stream.c.ends[1-l.stream.end].state == stateClosed
}

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
	return q.up() && q.n.both(from.host, q.host)
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

const (
	// linger is how long a connection stays open for the other side to read
	// why it ends. Closing at once could lose that on TCP.
	linger = time.Second
	// acceptPause is the wait after a failed accept: out of descriptors, most
	// likely.
	acceptPause = 50 * time.Millisecond
)

// accept serves a listener until it is closed. Each connection has its own
// goroutine from the first byte on, so that a mute one is alone in waiting.
func (r *Relay) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err == nil {
			conn = unixsock.Quiet(conn)
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			r.log.Warn("can't accept a connection", zap.Error(err))
			select {
			case <-time.After(acceptPause):
			case <-r.ctx.Done():
				return
			}
		case r.open(conn):
			r.wg.Go(func() { r.serve(conn) })
		default:
			conn.Close()
		}
	}
}

// Attach serves a client whose connection somebody else has accepted, as if it
// had come over the unix socket, and returns when the connection has ended. It
// closes conn.
func (r *Relay) Attach(conn net.Conn) {
	conn = trusted{conn}
	if !r.open(conn) {
		conn.Close()
		return
	}
	r.wg.Add(1)
	defer r.wg.Done()
	r.serve(conn)
}

// trusted is a connection of a process that needs no token.
type trusted struct{ net.Conn }

// open takes a connection among those that have not said Hello yet.
func (r *Relay) open(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == stateClosed {
		return false
	}
	if len(r.opening) >= handshakes {
		r.count.drop(dropHandshakeBusy)
		return false
	}
	r.opening[conn] = struct{}{}
	return true
}

// opened is the reverse of open.
func (r *Relay) opened(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.opening, conn)
}

// line is a client's connection as its session uses it.
type line struct {
	net.Conn
	stall time.Duration // that a client may leave the relay waiting in one Write
}

func newLine(conn net.Conn, stall time.Duration) session.Conn {
	l := &line{conn, stall}
	if s := session.NewSocket(conn, l.begin); s != nil {
		return socketLine{s, l}
	}
	return l
}

// begin begins the time that a Write may take.
func (l *line) begin() error { return l.SetWriteDeadline(time.Now().Add(l.stall)) }

// Write implements session.Conn.
func (l *line) Write(p []byte) (int, error) {
	if err := l.begin(); err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}

// CloseWrite implements session.Conn.
func (l *line) CloseWrite() error {
	closeWrite(l.Conn)
	return nil
}

// Reset implements session.Conn. After a violation the client is told why: the
// connection stays open for that.
func (l *line) Reset(code uint32) error {
	if code == session.CodeProtocol {
		return l.SetDeadline(time.Unix(1, 0))
	}
	return l.Close()
}

// socketLine is a line that is a socket.
type socketLine struct {
	*session.Socket
	line *line
}

// CloseWrite implements session.Conn.
func (l socketLine) CloseWrite() error { return l.line.CloseWrite() }

// Reset implements session.Conn.
func (l socketLine) Reset(code uint32) error { return l.line.Reset(code) }

// serve is the life of one connection.
func (r *Relay) serve(conn net.Conn) {
	defer conn.Close()
	carrier := session.NewCarrier(newLine(conn, r.cfg.Limits.Stall), &r.bodies, nil)
	shake := newHandshake(r, conn, carrier.Frames)
	h, refused, err := shake.greet()
	var c *client
	var number int
	if err == nil && refused == nil {
		c, number, refused, err = shake.admit(h)
	}
	r.opened(conn)
	if refused != nil {
		err = shake.refuse(refused)
	}
	if err != nil {
		if c != nil {
			c.conn.detached(number, err)
		}
		r.log.Debug("connection ended before it carried a session", zap.Error(err))
		return
	}
	c.log.Debug("client attached", zap.Bool("local", isLocal(conn)))
	err = c.conn.carry(number, carrier, h, r.clock.Now(), processOf(conn))
	c.log.Debug("connection of a client ended", zap.Error(err))
	if errors.Is(err, session.ErrProtocol) {
		say(conn, &wire.LeafGoodbye{Code: wire.EndProtocol, Text: err.Error()})
	}
}

// resume returns the client as which h comes, if it is known, and whether its
// session goes on. If it does not, what it had ends first: what it registers next
// must not stand beside its own old members.
func (r *Relay) resume(h *wire.LeafHello) (c *client, number int, received wire.Counts, ok bool) {
	r.mu.Lock()
	c = r.clients[h.Leaf]
	r.mu.Unlock()
	if c == nil {
		return nil, 0, received, false
	}
	if h.Session == c.sess.ID() && h.Instance == c.conn.instance && c.features&wire.FeatureResume != 0 {
		if number, received, ok = c.conn.begin(); ok {
			return c, number, received, true
		}
	}
	if !c.conn.over() {
		r.count.ended[wire.EndReplaced].Add(1)
	}
	c.end(errReplaced)
	wait, cancel := r.within(r.ctx, r.cfg.Limits.Handshake)
	defer cancel()
	select {
	case <-c.gone:
	case <-wait.Done():
	}
	return c, 0, received, false
}

// begin makes a client, unless there are too many. before is what it was in its
// session before, nil if nothing is known of it.
func (r *Relay) begin(h *wire.LeafHello, before *client) (*client, *wire.LeafGoodbye) {
	r.mu.Lock()
	var away *client
	defer func() {
		r.mu.Unlock()
		if away != nil {
			away.end(errGone)
		}
	}()
	if len(r.clients) >= r.cfg.Limits.Clients {
		if away = r.longestAway(); away != nil {
			delete(r.clients, away.id)
			r.count.ended[wire.EndFull].Add(1)
		}
	}
	switch {
	case r.state != stateRunning:
		return nil, &wire.LeafGoodbye{Code: wire.EndShutdown, Text: "the relay is shutting down"}
	case len(r.clients) >= r.cfg.Limits.Clients:
		text := fmt.Sprintf("%v: at most %d", ErrTooManyClients, r.cfg.Limits.Clients)
		return nil, &wire.LeafGoodbye{Code: wire.EndFull, Text: text}
	}
	r.last++
	var id wire.LeafID
	origin := r.last
	if before != nil {
		id, origin = before.id, before.origin
	} else {
		r.random.Read(id[:]) // never fails
	}
	c := newClient(r, h, id, origin, r.last)
	r.clients[id] = c
	r.count.sessions.Add(1)
	return c, nil
}

// longestAway returns the client without a connection that was heard least lately:
// its place is somebody else's before anybody is refused. nil if all have one. The
// caller holds mu.
func (r *Relay) longestAway() (first *client) {
	for _, c := range r.clients {
		if c.conn.away() && (first == nil || c.sess.Heard().Before(first.sess.Heard())) {
			first = c
		}
	}
	return first
}

// mortal is a connection that knows whether the process at its other end has
// ended.
type mortal interface{ PeerGone() bool }

func processOf(conn net.Conn) process {
	p := process{local: isLocal(conn)}
	if s, ok := unixsock.Of(conn); ok {
		p.gone = peercred.Gone(s)
	}
	if c, ok := conn.(trusted); ok {
		if m, ok := c.Conn.(mortal); ok {
			p.gone = m.PeerGone
		}
	}
	return p
}

func isLocal(conn net.Conn) bool {
	_, local := unixsock.Of(conn)
	_, trusts := conn.(trusted)
	return local || trusts
}

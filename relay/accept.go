// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/notice"
	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
	"github.com/arke-mesh/arke/relay/policy"
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
	var failures notice.Seldom
	for {
		conn, err := l.Accept()
		if err == nil {
			conn = unixsock.Quiet(conn)
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			if times := failures.Step(r.clock.Now()); times > 0 {
				r.log.Warn("can't accept connections of programs; check the limit of open files", zap.Error(err), zap.Int("times", times))
			}
			if !overlay.Sleep(r.ctx, r.clock, "relay/accept", acceptPause) {
				return
			}
		default:
			r.wg.Go(func() { r.serve(conn) })
		}
	}
}

// Attach serves a client whose connection somebody else has accepted, as if it
// had come over the unix socket, and returns when the connection has ended. It
// closes conn.
func (r *Relay) Attach(conn net.Conn) {
	r.mu.Lock()
	closed := r.state == stateClosed
	if !closed {
		r.wg.Add(1)
	}
	r.mu.Unlock()
	if closed {
		conn.Close()
		return
	}
	defer r.wg.Done()
	r.serve(trusted{conn})
}

// trusted is a connection of a process that needs no token.
type trusted struct{ net.Conn }

// line is a client's connection as its session uses it.
type line struct {
	net.Conn
	stall time.Duration // that a client may leave the relay waiting in one Write
}

func newLine(conn net.Conn, stall time.Duration, calls *nowait.Calls) session.Conn {
	l := &line{conn, stall}
	if s := session.NewSocket(conn, calls, l.begin); s != nil {
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
	from := sourceOf(conn)
	place, ok := r.door.enter(conn, from)
	if !ok {
		return
	}
	defer r.door.leave(place)
	carrier := session.NewCarrier(newLine(conn, r.cfg.Limits.Stall, r.cfg.Calls), &r.bodies, nil)
	carrier.Frames.Limit(wire.MaxLeafHello)
	shake := newHandshake(r, conn, carrier.Frames)
	h, refused, err := shake.greet()
	var c *client
	var number int
	if err == nil && refused == nil {
		c, number, refused, err = shake.admit(h)
	}
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
	r.door.leave(place)
	carrier.Frames.Limit(wire.MaxFrame)
	c.log.Debug("client attached", zap.Bool("local", isLocal(conn)))
	err = c.conn.carry(number, carrier, h, r.clock.Now(), processOf(conn, shake.from.user))
	c.log.Debug("connection of a client ended", zap.Error(err))
	if errors.Is(err, session.ErrProtocol) {
		if place, ok = r.door.enter(conn, from); !ok {
			return
		}
		defer r.door.leave(place)
		say(conn, &wire.LeafGoodbye{Code: wire.EndProtocol, Text: err.Error()})
	}
}

// resume returns the client as which h comes, if it is known, and whether its
// session goes on. If it does not, what it had ends first: what it registers next
// must not stand beside its own old members. Who is somebody else is not known: a
// client's id is no way to the rights of another user.
func (r *Relay) resume(h *wire.LeafHello, who policy.Client) (c *client, number int, received wire.Counts, ok bool) {
	r.mu.Lock()
	c = r.clients[h.Leaf]
	r.mu.Unlock()
	if c == nil || !c.rights.who.Same(who) {
		return nil, 0, received, false
	}
	if h.Session == c.sess.ID() && h.Received != wire.UnknownCounts() && h.Instance == c.conn.instance && c.features&wire.FeatureResume != 0 && c.conn.keys.are(h.Keys) {
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
func (r *Relay) begin(h *wire.LeafHello, before *client, from source, who policy.Client) (*client, *wire.LeafGoodbye) {
	keys, err := bring(r.cfg.Node, h.Keys)
	if err != nil {
		return nil, &wire.LeafGoodbye{Code: wire.EndOther, Text: err.Error()}
	}
	c, refused := r.place(h, keys, before, from, who)
	if refused != nil {
		keys.giveBack()
	}
	return c, refused
}

// place is begin with the keys of the Hello.
func (r *Relay) place(h *wire.LeafHello, keys *brought, before *client, from source, who policy.Client) (*client, *wire.LeafGoodbye) {
	r.mu.Lock()
	var away *client
	defer func() {
		r.mu.Unlock()
		if away != nil {
			away.end(errGone)
		}
	}()
	observes := h.Features&wire.FeatureObserver != 0
	seated := r.shares.seats.Take(from, 1)
	spare := !seated && observes
	switch {
	case spare:
		if away = r.oldestSpare(); away != nil {
			r.unseat(away)
			r.count.ended[wire.EndFull].Add(1)
		}
	case !seated:
		if away = r.longestAway(from); away != nil {
			r.unseat(away)
			r.count.ended[wire.EndFull].Add(1)
			seated = r.shares.seats.Take(from, 1)
		}
	}
	switch {
	case r.isDraining() || r.state == stateClosed:
		if seated {
			r.shares.seats.Give(from, 1)
		}
		return nil, &wire.LeafGoodbye{Code: wire.EndShutdown, Text: "the relay is shutting down"}
	case !seated && !spare:
		return nil, &wire.LeafGoodbye{Code: wire.EndFull, Text: fmt.Sprintf(
			"%v of %v: at most %d, and less while others have many: end some, or %s", ErrTooManyClients, from, r.shares.clients(), raise(flagClients))}
	}
	r.last++
	var id wire.LeafID
	origin := r.last
	if before != nil {
		id, origin = before.id, before.origin
	} else {
		r.random.Read(id[:]) // never fails
	}
	c := newClient(r, h, id, origin, r.last, from, who)
	c.conn.keys, c.seat.spare = keys, spare
	r.clients[id] = c
	r.count.sessions.Add(1)
	return c, nil
}

// longestAway returns the client without a connection that was heard least lately
// of those in whose place one from there could be: its own, or, if the relay is
// full, anybody's. Nobody is refused before that. nil if all have a connection. The
// caller holds mu.
func (r *Relay) longestAway(from source) (first *client) {
	full := r.shares.seats.Used() >= r.shares.seats.Limit()
	for _, c := range r.clients {
		if !c.seat.spare && (full || c.seat.from == from) && c.conn.away() && (first == nil || c.sess.Heard().Before(first.sess.Heard())) {
			first = c
		}
	}
	return first
}

// maxSpare is how many observers are let in beyond Limits.Clients.
const maxSpare = 4

// oldestSpare returns the observer that has to go before another one is let in beyond
// Limits.Clients; nil if there is a place. The caller holds mu.
func (r *Relay) oldestSpare() (first *client) {
	n := 0
	for _, c := range r.clients {
		if c.seat.taken && c.seat.spare {
			if n++; first == nil || c.origin < first.origin {
				first = c
			}
		}
	}
	if n < maxSpare {
		return nil
	}
	return first
}

// unseat takes a client out, whose place is free from here on. The caller holds mu.
func (r *Relay) unseat(c *client) {
	if r.clients[c.id] == c {
		delete(r.clients, c.id)
	}
	if c.seat.taken && !c.seat.spare {
		r.shares.seats.Give(c.seat.from, 1)
	}
	c.seat.taken = false
}

// mortal is a connection that knows whether the process at its other end has
// ended.
type mortal interface{ PeerGone() bool }

func processOf(conn net.Conn, who *peercred.Credentials) process {
	p := process{local: isLocal(conn)}
	if who != nil {
		p.pid = who.Process
	}
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/peercred"
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

// serve is the life of one connection.
func (r *Relay) serve(conn net.Conn) {
	defer conn.Close()
	c, reader, err := r.handshake(conn)
	r.opened(conn)
	if err != nil {
		r.log.Debug("connection ended before it was a session", zap.Error(err))
		return
	}
	c.log.Debug("client attached", zap.Bool("local", isLocal(conn)))
	err = c.run(reader)
	r.mu.Lock()
	delete(r.clients, c.id)
	r.mu.Unlock()
	close(c.gone)
	c.log.Debug("client detached", zap.Error(err))
}

// handshake reads the Hello and answers it.
func (r *Relay) handshake(conn net.Conn) (*client, *session.Reader, error) {
	if err := conn.SetDeadline(time.Now().Add(r.cfg.Limits.Handshake)); err != nil {
		return nil, nil, err
	}
	if local, ok := conn.(*net.UnixConn); ok {
		if err := peercred.Check(local, os.Geteuid()); err != nil {
			r.log.Warn("refused a process of another user", zap.Error(err))
			return nil, nil, r.refuse(conn, &session.Refused{Reason: session.ReasonUser, Text: err.Error()})
		}
	}
	reader := session.NewReader(conn, session.MaxHandshake)
	hello, refusal, err := readHello(reader)
	if err != nil {
		return nil, nil, err
	}
	if refusal != nil {
		return nil, nil, r.refuse(conn, refusal)
	}
	if isLocal(conn) || sameToken(hello.Token, r.cfg.Token) {
		r.replace(hello.Resume)
	}
	// Before admit: from then on others may set deadlines.
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	c, refusal := r.admit(conn, hello)
	if refusal != nil {
		return nil, nil, r.refuse(conn, refusal)
	}
	reader.SetLimit(session.MaxFrame)
	return c, reader, nil
}

// readHello returns the first frame, or what to answer to it.
func readHello(reader *session.Reader) (*session.Hello, *session.Refused, error) {
	k, body, err := reader.Next()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &session.Refused{Reason: session.ReasonTimeout, Text: "no hello in time"}, nil
	case errors.Is(err, session.ErrFrameTooLarge):
		return nil, &session.Refused{Reason: session.ReasonTooLarge, Text: err.Error()}, nil
	case errors.Is(err, session.ErrMalformed):
		return nil, &session.Refused{Reason: session.ReasonMalformed, Text: err.Error()}, nil
	case err != nil:
		return nil, nil, err
	case k != session.KindHello:
		return nil, &session.Refused{Reason: session.ReasonProtocol, Text: "the first frame must be a hello"}, nil
	}
	f, err := session.Decode(k, body)
	if err != nil {
		return nil, &session.Refused{Reason: session.ReasonMalformed, Text: err.Error()}, nil
	}
	return f.(*session.Hello), nil, nil
}

// admit makes the client one of the attached, unless it is refused.
func (r *Relay) admit(conn net.Conn, hello *session.Hello) (*client, *session.Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, refusal := judge(hello, standing{
		local:    isLocal(conn),
		token:    r.cfg.Token,
		draining: r.state != stateRunning,
		clients:  len(r.clients),
		limit:    r.cfg.Limits.Clients,
	})
	if refusal != nil {
		return nil, refusal
	}
	var id session.ID
	rand.Read(id[:]) // never fails
	c := newClient(r, conn, id, hello.Client)
	r.inherit(c, hello.Resume)
	welcome := &session.Welcome{
		Version: version, Session: id, Limits: r.cfg.Limits.wire(),
		Peer: r.cfg.Peer, Relay: r.cfg.Agent,
	}
	if err := c.sender.Send(welcome); err != nil {
		panic("BUG: an empty queue refuses a welcome: " + err.Error())
	}
	r.clients[id] = c
	r.count.sessions.Add(1)
	return c, nil
}

// replace ends the session that the client had before, so that its members do
// not stand beside those it is about to register.
func (r *Relay) replace(id session.ID) {
	r.mu.Lock()
	old := r.clients[id]
	r.mu.Unlock()
	if old == nil {
		return
	}
	r.count.ended[session.ReasonReplaced].Add(1)
	old.end(errReplaced)
	wait, cancel := context.WithTimeout(r.ctx, r.cfg.Limits.Handshake)
	defer cancel()
	select {
	case <-old.gone:
	case <-wait.Done():
	}
}

// refuse tells the other side why it is turned away, and returns that.
func (r *Relay) refuse(conn net.Conn, f *session.Refused) error {
	r.count.refused[f.Reason].Add(1)
	if f.Reason == session.ReasonToken {
		r.log.Warn("refused a client with a wrong token")
	}
	err := fmt.Errorf("refused (%s): %s", f.Reason, f.Text)
	b, encodeErr := session.Append(nil, f)
	if encodeErr != nil {
		return errors.Join(err, encodeErr)
	}
	if deadlineErr := conn.SetDeadline(time.Now().Add(linger)); deadlineErr != nil {
		return errors.Join(err, deadlineErr)
	}
	if _, writeErr := conn.Write(b); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	closeWrite(conn)
	io.Copy(io.Discard, conn) // until it is read, or nobody reads
	return err
}

// closeWrite lets the other side see the end behind what was written.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() // it is gone then, which is no worse
	}
}

func isLocal(conn net.Conn) bool {
	_, ok := conn.(*net.UnixConn)
	return ok
}

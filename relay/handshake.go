// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/proof"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

// A refusal is why a connection is turned away. It is the other side's fault, unlike
// an error of the connection.
type refusal = *wire.LeafGoodbye

// handshake is what comes before a connection carries a session.
type handshake struct {
	relay  *Relay
	conn   net.Conn
	frames *wire.FrameReader
	from   access
}

func newHandshake(r *Relay, conn net.Conn, frames *wire.FrameReader) *handshake {
	return &handshake{relay: r, conn: conn, frames: frames, from: access{local: isLocal(conn), tokens: r.cfg.Tokens}}
}

// greet checks who connects, and reads the Hello and what comes before it.
func (s *handshake) greet() (*wire.LeafHello, refusal, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.relay.cfg.Limits.Handshake)); err != nil {
		return nil, nil, err
	}
	if refused, err := s.recognise(); refused != nil || err != nil {
		return nil, refused, err
	}
	body, refused, err := firstFrame(s.frames)
	if err == nil && refused == nil && wire.IsLeafChallenge(body) {
		if refused, err = s.prove(body); err == nil && refused == nil {
			body, refused, err = firstFrame(s.frames)
		}
	}
	if err != nil || refused != nil {
		return nil, refused, err
	}
	h, err := wire.DecodeLeafHello(body)
	if err != nil {
		return nil, broken(err.Error()), nil
	}
	return &h, nil, nil
}

// recognise finds out whose process is at the other end of a socket, and whether it
// may attach.
func (s *handshake) recognise() (refusal, error) {
	local, ok := unixsock.Of(s.conn)
	if !ok {
		return nil, nil
	}
	cred, ok, err := peercred.Of(local)
	if !ok || err != nil {
		return nil, err // where nobody can tell, the permissions of the socket have to do
	}
	s.from.user = &cred
	why := s.relay.cfg.sharing().refuses(cred)
	if why == "" {
		return nil, nil
	}
	s.relay.log.Warn("refused a process of another user", zap.Int("user", cred.User), zap.Ints("groups", cred.Groups))
	return &wire.LeafGoodbye{Code: wire.EndUser, Text: why}, nil
}

// firstFrame reads a frame that must be a Hello.
func firstFrame(frames *wire.FrameReader) ([]byte, refusal, error) {
	_, k, body, err := frames.Next()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &wire.LeafGoodbye{Code: wire.EndTimeout, Text: "no hello in time"}, nil
	case errors.Is(err, wire.ErrFrameTooLarge), errors.Is(err, wire.ErrMalformed):
		return nil, broken(err.Error()), nil
	case err != nil:
		return nil, nil, err
	case k != wire.KindHello:
		return nil, broken("the first frame must be a hello"), nil
	}
	return body, nil, nil
}

func broken(text string) refusal {
	return &wire.LeafGoodbye{Code: wire.EndProtocol, Text: text}
}

// prove answers a challenge: it shows that the relay holds its tokens, and notes
// what the client's proof must be about.
func (s *handshake) prove(body []byte) (refusal, error) {
	m, err := wire.DecodeLeafChallenge(body)
	if err != nil {
		return broken(err.Error()), nil
	}
	x := &proof.Exchange{Client: m.Nonce, Address: proof.Address(s.conn.LocalAddr())}
	s.relay.mu.Lock()
	s.relay.random.Read(x.Relay[:]) // never fails
	s.relay.mu.Unlock()
	answer := wire.RelayProof{Nonce: x.Relay}
	for _, t := range s.from.tokens {
		answer.Proofs = append(answer.Proofs, x.OfRelay(t.Secret))
	}
	s.from.exchange = x
	return nil, writeFrame(s.conn, wire.KindHello, answer.AppendTo(nil))
}

// admit makes the connection one of a client's, unless it is refused, and answers
// the Hello.
func (s *handshake) admit(h *wire.LeafHello) (c *client, number int, refused refusal, err error) {
	r := s.relay
	version, refused := judge(h, s.from)
	if refused != nil {
		return nil, 0, refused, nil
	}
	who := s.from.client(h)
	c, number, received, ok := r.resume(h, who)
	if !ok {
		if c, refused = r.begin(h, c, sourceOf(s.conn), who); refused != nil {
			return nil, 0, refused, nil
		}
		number, _, _ = c.conn.begin()
		received = r.former(h, who)
		h.Received = wire.Counts{} // of another session
	}
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return c, number, nil, err
	}
	return c, number, nil, s.answer(c, version, received)
}

// answer says Hello to the client.
func (s *handshake) answer(c *client, version uint16, received wire.Counts) error {
	r, l := s.relay, &s.relay.cfg.Limits
	hello := wire.RelayHello{
		Version: version, Features: c.features, Instance: r.instance, Leaf: c.id, Received: received,
		Clock: c.linkTime(r.clock.Now()), LargestFrame: wire.MaxFrame, LargestMessage: largestMessage,
		Registrations: uint32(l.Registrations), Subscriptions: uint32(l.Subscriptions),
		Calls: uint32(l.Requests), CallBytes: uint64(l.RequestBytes), Peer: r.cfg.Peer, Name: r.cfg.Agent,
	}
	if c.features&wire.FeatureResume != 0 {
		hello.Session = c.sess.ID()
	}
	if c.features&wire.FeatureBeats != 0 {
		hello.BeatMillis = uint32(c.conn.beat / time.Millisecond)
	}
	for lane, n := range l.lanes() {
		hello.LaneBytes[lane] = uint32(n)
	}
	return writeFrame(s.conn, wire.KindHello, hello.AppendTo(nil))
}

// writeFrame sends one frame that belongs to the connection.
func writeFrame(conn net.Conn, k wire.Kind, body []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(linger)); err != nil {
		return err
	}
	_, err := conn.Write(wire.AppendFrame(nil, wire.LaneCtl, k, body))
	return err
}

// refuse tells the other side why it is turned away, and returns that.
func (s *handshake) refuse(m refusal) error {
	s.relay.count.refused[m.Code].Add(1)
	if m.Code == wire.EndToken {
		s.relay.log.Warn("refused a client without the token", zap.String("why", m.Text))
	}
	err := fmt.Errorf("refused (%s): %s", m.Code, m.Text)
	return errors.Join(err, say(s.conn, m))
}

// say sends a Goodbye, and returns when the other side has had time to read it.
func say(conn net.Conn, m refusal) error {
	if err := writeFrame(conn, wire.KindGoodbye, m.AppendTo(nil)); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(linger)); err != nil {
		return err
	}
	closeWrite(conn)
	io.Copy(io.Discard, conn) // until it is read, or nobody reads
	return nil
}

// closeWrite lets the other side see the end behind what was written.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() // it is gone then, which is no worse
	}
}

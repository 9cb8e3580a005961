// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/relay/internal/proof"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

// connection is one on which the relay has said Hello.
type connection struct {
	*session.Carrier
	conn   net.Conn
	relay  wire.RelayHello
	sample session.Sample // of the relay's clock
}

// dial connects to the relay and exchanges Hellos. If there is a token, the relay
// has to meet the challenge first. now is the link clock, bodies what long bodies
// are read into.
func (c Config) dial(
	ctx context.Context, hello wire.LeafHello, challenge wire.LeafChallenge, now func() uint64, bodies *wire.Bodies,
) (*connection, error) {
	conn, err := c.connect(ctx)
	switch {
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%w: %s: %w", ErrUser, c.target(), syscall.EACCES)
	case err != nil:
		return nil, c.noRelay(err)
	}
	conn = unixsock.Quiet(conn)
	// The handshake must not outlast ctx.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	carrier := session.NewCarrier(session.NetConn(conn), bodies, nil)
	err = c.trust(conn)
	if err == nil && c.Token != "" {
		hello.Proof, err = c.challenge(conn, carrier, challenge)
	}
	var answer wire.RelayHello
	if err == nil {
		answer, err = c.greet(conn, carrier, hello)
	}
	if !stop() && err == nil {
		err = c.noRelay(ctx.Err())
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &connection{
		Carrier: carrier, conn: conn, relay: answer,
		sample: session.Sample{Sent: hello.Clock, Got: now(), Remote: answer.Clock},
	}, nil
}

// challenge has the relay prove that it holds the token, and returns the client's
// own proof. Before that, what listens there is told nothing.
func (c Config) challenge(conn net.Conn, carrier *session.Carrier, m wire.LeafChallenge) ([]byte, error) {
	body, err := c.exchange(conn, carrier, m.AppendTo(nil))
	if err != nil {
		return nil, err
	}
	answer, err := wire.DecodeRelayProof(body)
	if err != nil {
		return nil, c.noRelay(err)
	}
	x := proof.Exchange{Client: m.Nonce, Relay: answer.Nonce, Address: proof.Address(conn.RemoteAddr())}
	want, known := x.OfRelay(c.Token), false
	for i := range answer.Proofs {
		known = proof.Equal(answer.Proofs[i][:], want[:]) || known
	}
	if !known {
		return nil, fmt.Errorf("%w: what listens at %s does not have it", ErrToken, c.target())
	}
	own := x.OfClient(c.Token)
	return own[:], nil
}

// greet says Hello and returns what the relay makes of it.
func (c Config) greet(conn net.Conn, carrier *session.Carrier, hello wire.LeafHello) (wire.RelayHello, error) {
	body, err := c.exchange(conn, carrier, hello.AppendTo(nil))
	if err != nil {
		return wire.RelayHello{}, err
	}
	answer, err := wire.DecodeRelayHello(body)
	if err != nil {
		return wire.RelayHello{}, c.noRelay(err)
	}
	if answer.Version < wire.LeafVersionMin || answer.Version > wire.LeafVersionMax {
		return wire.RelayHello{}, fmt.Errorf("%w: version %d", ErrVersion, answer.Version)
	}
	if len(hello.Keys) > 0 && answer.Features&wire.FeatureKeys == 0 {
		return wire.RelayHello{}, ErrKeys
	}
	return answer, nil
}

// exchange says Hello, and returns the relay's.
func (c Config) exchange(conn net.Conn, carrier *session.Carrier, hello []byte) ([]byte, error) {
	if _, err := conn.Write(wire.AppendFrame(nil, wire.LaneCtl, wire.KindHello, hello)); err != nil {
		return nil, c.noRelay(err)
	}
	_, kind, body, err := carrier.Frames.Next()
	if err != nil {
		return nil, c.noRelay(err)
	}
	switch kind {
	case wire.KindHello:
		return body, nil
	case wire.KindGoodbye:
		goodbye, err := wire.DecodeLeafGoodbye(body)
		if err != nil {
			return nil, c.noRelay(err)
		}
		return nil, refused(goodbye)
	}
	return nil, c.noRelay(fmt.Errorf("it answers with %s", kind))
}

// noRelay says in one line what to look at.
func (c Config) noRelay(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if info, failed := os.Stat(c.Socket); failed == nil && info.Mode()&fs.ModeSocket == 0 {
		err = ErrNotSocket // connect(2) says "connection refused"
	}
	return fmt.Errorf("%w at %s: start one with 'arke relay', or say where it listens (%w)", ErrNoRelay, c.target(), err)
}

// failureOf says what the error of a dial means.
func failureOf(err error) session.Failure {
	switch {
	case isAny(err, syscall.ECONNREFUSED, syscall.ENOENT):
		return session.Refused
	case isAny(err, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF):
		return session.HungUp
	}
	return session.Unreached
}

// isFinal says that another attempt would end the same way.
func isFinal(err error) bool {
	return isAny(err, ErrVersion, ErrToken, ErrUser, ErrOwner, ErrTooManyClients, ErrRefused, ErrKeys)
}

// isAny says that err is one of some.
func isAny(err error, some ...error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
}

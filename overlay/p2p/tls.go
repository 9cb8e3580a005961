// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
)

// What a connection is for is said in the TLS handshake (ALPN), so neither
// security, multiplexer nor link costs a round trip of negotiation.
const (
	alpnLink  = overlay.LinkProtocol
	alpnProbe = "arke/probe/1" // who are you? closed after the handshake
)

// alertBadCertificate is the text of the alert that crypto/tls sends when
// VerifyPeerCertificate fails; the type is not exported.
const alertBadCertificate = "tls: bad certificate"

// securer runs TLS handshakes in which both sides prove that they belong to
// the network.
type securer struct {
	key      crypto.PrivKey
	self     peer.ID
	identity atomic.Pointer[libp2ptls.Identity] // shows the network's present keys, and the node's certificate
	admitted admission
	oid      asn1.ObjectIdentifier
	own      func() []byte // the node's certificate; nil = none
	calls    *nowait.Calls // nil = as usual
	counters *counters
	log      *zap.Logger
	made     time.Time
	said     *atomic.Int64 // when a refusal was logged last, in ns since made; 0 = none was

	renewing sync.Mutex // so that the newest is the last
	showing  []byte     // guarded by renewing: the certificate in identity
}

// sayEvery is how often refusals are logged at most. Anybody can
// cause one; they are counted all.
const sayEvery = time.Minute

func newSecurer(key crypto.PrivKey, self peer.ID, net admission, oid asn1.ObjectIdentifier, own func() []byte, c *counters, log *zap.Logger) (*securer, error) {
	s := &securer{
		key: key, self: self, admitted: net, oid: oid, own: own,
		counters: c, log: log, made: time.Now(), said: new(atomic.Int64),
	}
	return s, s.renew()
}

// renew has handshakes show what the network's keys prove now, and the certificate that
// the node has now.
func (s *securer) renew() error {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	return s.show(s.own())
}

// showOwn has handshakes show the certificate that the node has now, if it is another one.
func (s *securer) showOwn() error {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	if own := s.own(); !bytes.Equal(own, s.showing) {
		return s.show(own)
	}
	return nil
}

// show needs renewing.
func (s *securer) show(certificate []byte) error {
	identity, err := newIdentity(s.key, s.self, s.admitted, s.oid, certificate)
	if err == nil {
		s.identity.Store(identity)
		s.showing = certificate
	}
	return err
}

// accept runs the handshake of an accepted connection that has greeted with hello.
// It takes over raw, and closes it on error. A probe gives errProbe.
func (s *securer) accept(ctx context.Context, raw net.Conn, hello []byte, g *guest) (*secureConn, error) {
	below := mux.NewQueuedConn(raw, s.calls)
	a := &accepting{QueuedConn: below, hello: hello, ctx: ctx, guest: g}
	c, err := s.handshake(ctx, below, "", func(conf *tls.Config) *tls.Conn { return tls.Server(a, conf) }, alpnLink, alpnProbe)
	if err != nil {
		return nil, s.explain(ctx, raw, err)
	}
	a.ctx, a.guest = nil, nil
	if c.ConnectionState().NegotiatedProtocol == alpnProbe {
		s.counters.add(countProbe)
		c.Close()
		return nil, errProbe
	}
	return c, nil
}

// connect runs the handshake of a connection to p, or to whoever is there if p
// is empty. It takes over raw, and closes it on error.
//
// The peer checks our certificate only after this has returned: whether we are
// admitted is known with the first byte it sends, see secureConn.confirmed.
func (s *securer) connect(ctx context.Context, raw net.Conn, p peer.ID, alpn string) (*secureConn, error) {
	below := mux.NewQueuedConn(raw, s.calls)
	d := &dialling{QueuedConn: below, greet: s.admitted.Greet}
	c, err := s.handshake(ctx, below, p, func(conf *tls.Config) *tls.Conn { return tls.Client(d, conf) }, alpn)
	switch {
	case err == nil:
		return c, nil
	case !d.heard && hungUp(err) && ctx.Err() == nil:
		s.counters.add(countSilent)
		return nil, fmt.Errorf("%w: %s %w", ErrRefused, raw.RemoteAddr(), errSilent)
	}
	return nil, s.explain(ctx, raw, err)
}

// hungUp says whether err is the end of a connection that the other side has closed.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// handshake runs a handshake above below, which it closes on error.
func (s *securer) handshake(ctx context.Context, below *mux.QueuedConn, p peer.ID,
	side func(*tls.Config) *tls.Conn, alpn ...string,
) (*secureConn, error) {
	var key crypto.PubKey
	var remote peer.ID
	var what shown
	conf, keys := s.identity.Load().ConfigForPeer(p)
	conf.NextProtos = alpn
	// Small records at first are for browsers; they would cost us system
	// calls at the other end.
	conf.DynamicRecordSizingDisabled = true
	verify := conf.VerifyPeerCertificate
	conf.VerifyPeerCertificate = func(certs [][]byte, chains [][]*x509.Certificate) error {
		if err := verify(certs, chains); err != nil {
			return err
		}
		key = <-keys // filled by verify
		var err error
		if remote, err = peer.IDFromPublicKey(key); err != nil {
			return err
		}
		what, err = checkCertificate(certs[0], remote, s.admitted, s.oid)
		return err
	}
	c := side(conf)
	if err := c.HandshakeContext(ctx); err != nil {
		below.Close()
		return nil, err
	}
	if c.ConnectionState().NegotiatedProtocol == "" {
		below.Close()
		return nil, errors.New("p2p: handshake without a protocol")
	}
	secure := newSecureConn(c, below, s.self, remote, key)
	secure.shown = what
	return secure, nil
}

// explain counts a failed handshake, and says whose refusal it was if it was
// one.
func (s *securer) explain(ctx context.Context, raw net.Conn, err error) error {
	var alert *net.OpError
	switch {
	case errors.Is(err, errNotAdmitted):
		s.counters.add(countRefused)
		s.warn("a node that is not of this network was refused", raw, err)
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case errors.As(err, &alert) && alert.Op == "remote error" && alert.Err.Error() == alertBadCertificate:
		s.counters.add(countRefusedByOther)
		return fmt.Errorf("%w: %w: %w", ErrRefused, overlay.ErrTurnedAway, err)
	}
	s.counters.add(countHandshake)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("p2p: handshake: %w", err)
}

// warn says that somebody was refused, once in a while.
func (s *securer) warn(what string, c net.Conn, why error) {
	if now, last := int64(time.Since(s.made)), s.said.Load(); (last == 0 || now-last >= int64(sayEvery)) && s.said.CompareAndSwap(last, now) {
		s.log.Warn(what, zap.Stringer("address", c.RemoteAddr()), zap.Error(why))
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-yamux/v5"
	"github.com/multiformats/go-multistream"

	"github.com/arke-mesh/arke/overlay"
)

// stream is a link stream. See overlay.Stream for what its methods promise.
type stream struct {
	inner network.Stream
	// rw is inner, at the opener's end behind a header that travels with the
	// first bytes written.
	rw   io.ReadWriter
	conn *secureConn

	// given is what gauge will have counted at the least when the connection
	// has taken all that was written. Owned by the writer, with place.
	given uint64
	place *waiter
	by    *deadline // for writes

	// Lifecycle. over is closed by Reset and Close.
	over     chan struct{}
	overOnce sync.Once
	onOver   func()
}

var _ overlay.Stream = (*stream)(nil)

// newStream wraps a stream of protocol overlay.LinkProtocol. onOver is called
// once, when it was reset or closed here.
func newStream(inner network.Stream, onOver func()) (*stream, error) {
	var conn *secureConn
	if !inner.Conn().As(&conn) {
		return nil, errors.New("p2p: BUG: stream on a connection that is not ours")
	}
	s := &stream{
		inner: inner, rw: inner, conn: conn,
		place: newWaiter(), by: newDeadline(),
		over: make(chan struct{}), onOver: onOver,
	}
	if s.Outbound() {
		// Lazy: nothing is sent yet, and nobody waits for the answer. That
		// the peer does not know the protocol shows in the first Read.
		s.rw = multistream.NewMSSelect(inner, inner.Protocol())
	}
	return s, nil
}

// Read implements overlay.Stream.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.rw.Read(p)
	if n > 0 {
		// yamux may report the end of the connection together with bytes,
		// although more of them are there to be read.
		return n, nil
	}
	return n, s.explain(err)
}

// Write implements overlay.Stream. yamux would take 64 frames; to know what
// has left it, the bytes are counted that the connection has taken. What other
// streams write counts too, so Write may wait too short, by a little, as the
// others only carry pings, identify and lookups; never too long.
//
// Pitfall "yamux, head-of-line blocking": whatever waits in its one queue is
// ahead of everything that comes after, however urgent.
func (s *stream) Write(p []byte) (int, error) {
	if !s.conn.gauge.wait(s.place, s.given, s.by.passed(), s.over) {
		select {
		case <-s.over:
			return 0, net.ErrClosed
		case <-s.conn.gauge.closed: // the write below knows why
		default:
			return 0, os.ErrDeadlineExceeded
		}
	}
	before := s.conn.gauge.taken.Load()
	n, err := s.rw.Write(p)
	s.given = before + uint64(n)
	if err == nil && s.conn.gauge.over() {
		// yamux takes frames until it has noticed itself; nobody will get them.
		return 0, net.ErrClosed
	}
	return n, s.explain(err)
}

// CloseWrite implements overlay.Stream.
func (s *stream) CloseWrite() error {
	if lazy, ok := s.rw.(interface{ Flush() error }); ok {
		if err := lazy.Flush(); err != nil {
			return s.explain(err)
		}
	}
	return s.explain(s.inner.CloseWrite())
}

// Reset implements overlay.Stream.
func (s *stream) Reset(code uint32) error {
	s.end()
	return s.inner.ResetWithError(network.StreamErrorCode(code))
}

// Close implements overlay.Stream.
func (s *stream) Close() error {
	s.end()
	_ = s.inner.Close() // fails on a dead connection, where there is nothing left to release
	return nil
}

func (s *stream) end() {
	s.overOnce.Do(func() {
		close(s.over)
		s.by.stop()
		s.onOver()
	})
}

// SetReadDeadline implements overlay.Stream.
func (s *stream) SetReadDeadline(t time.Time) error { return s.inner.SetReadDeadline(t) }

// SetWriteDeadline implements overlay.Stream.
//
// Pitfall "yamux, deadlines are per stream": this one says nothing about the
// connection, whose own limit is in muxConfig.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.by.set(t)
	return s.inner.SetWriteDeadline(t)
}

// Remote implements overlay.Stream.
func (s *stream) Remote() peer.ID { return s.conn.remote }

// RemoteAddr implements overlay.Stream.
func (s *stream) RemoteAddr() string { return s.inner.Conn().RemoteMultiaddr().String() }

// Outbound implements overlay.Stream.
func (s *stream) Outbound() bool { return s.inner.Stat().Direction == network.DirOutbound }

// explain gives errors the shape that callers know: os.ErrDeadlineExceeded,
// io.EOF, *network.StreamError for resets.
func (s *stream) explain(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, yamux.ErrTimeout): // of the stream, not of the connection
		return os.ErrDeadlineExceeded
	case errors.Is(err, multistream.ErrNotSupported[protocol.ID]{}):
		return ErrNoLinkProtocol
	case s.conn.refused.Load():
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("p2p: stream: %w", err)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
	"github.com/arke-mesh/arke/overlay/session"
)

// stream is a link stream. See overlay.Stream for what its methods promise.
type stream struct {
	inner *mux.Stream
	conn  *muxedConn
	swarm network.Network

	// Lifecycle.
	overOnce sync.Once
	onOver   func()
}

var (
	_ overlay.Stream = (*stream)(nil)
	_ session.Owned  = (*stream)(nil)
)

// newStream wraps the stream of a link. onOver is called once, when it was reset or
// closed here.
func newStream(inner *mux.Stream, c *muxedConn, swarm network.Network, onOver func()) *stream {
	return &stream{inner: inner, conn: c, swarm: swarm, onOver: onOver}
}

// Read implements overlay.Stream.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.inner.Read(p)
	return n, s.explain(err)
}

// Drive says whether Read is called again and again from here on: see mux.
func (s *stream) Drive(on bool) { s.inner.Drive(on) }

// Write implements overlay.Stream.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.inner.Write(p)
	return n, s.explain(err)
}

// WriteAll is Write of what parts are together, size bytes.
func (s *stream) WriteAll(size int, parts ...[]byte) (int, error) {
	n, err := s.inner.WriteAll(size, parts...)
	return n, s.explain(err)
}

// TryWrite implements session.Owned: all or nothing.
func (s *stream) TryWrite(size int, parts ...[]byte) (int, error) {
	if done, err := s.inner.TryWrite(size, parts...); !done || err != nil {
		return 0, s.explain(err)
	}
	return size, nil
}

// maxUnsent bounds what the kernel takes from us before the line has taken it,
// in bytes, and so does minUnsent where the line is slow. The kernel would buffer
// megabytes for a slow line, and what is in its buffer has no priority any more.
const (
	maxUnsent = 128 << 10
	minUnsent = 4 << 10
	// slowUnsent is from where on it matters that the kernel goes on filling its last
	// buffer: 64 KiB take 16 ms or more then, if this much takes 8 (session.pace).
	slowUnsent = 32 << 10
)

// Unsent implements session.Owned.
func (s *stream) Unsent(bytes int) {
	s.conn.secure.below.Apart(bytes <= slowUnsent)
	setUnsent(s.conn.ConnMultiaddrs, bytes)
}

// CloseWrite implements overlay.Stream.
func (s *stream) CloseWrite() error { return s.explain(s.inner.CloseWrite()) }

// Reset implements overlay.Stream.
func (s *stream) Reset(code uint32) error {
	defer s.overOnce.Do(s.onOver)
	return s.inner.ResetWithError(network.StreamErrorCode(code))
}

// Hangup implements overlay.Stream.
func (s *stream) Hangup() {
	conns := s.swarm.ConnsToPeer(s.Remote())
	own := slices.IndexFunc(conns, func(c network.Conn) bool {
		var ours *muxedConn
		return c.As(&ours) && ours == s.conn
	})
	if own < 0 {
		return // it has ended
	}
	made := conns[own].Stat().Opened
	for _, c := range conns {
		if !c.Stat().Opened.After(made) {
			_ = c.Close()
		}
	}
}

// Close implements overlay.Stream.
func (s *stream) Close() error {
	defer s.overOnce.Do(s.onOver)
	_ = s.inner.Close() // fails on a dead connection, where there is nothing left to release
	return nil
}

// SetReadDeadline implements overlay.Stream.
func (s *stream) SetReadDeadline(t time.Time) error { return s.inner.SetReadDeadline(t) }

// SetWriteDeadline implements overlay.Stream.
func (s *stream) SetWriteDeadline(t time.Time) error { return s.inner.SetWriteDeadline(t) }

// Remote implements overlay.Stream.
func (s *stream) Remote() peer.ID { return s.conn.secure.remote }

// RemoteAddr implements overlay.Stream.
func (s *stream) RemoteAddr() string { return s.conn.RemoteMultiaddr().String() }

// Certified implements overlay.Stream.
func (s *stream) Certified() bool { return s.conn.routing.Load() }

// Outbound implements overlay.Stream.
func (s *stream) Outbound() bool { return s.inner.Outbound() }

// explain gives errors the shape that callers know: os.ErrDeadlineExceeded,
// io.EOF, *network.StreamError for resets.
func (s *stream) explain(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return os.ErrDeadlineExceeded
	case s.conn.secure.refusedBy(err):
		return fmt.Errorf("%w: %w: %w", ErrRefused, overlay.ErrTurnedAway, err)
	}
	return fmt.Errorf("p2p: stream: %w", err)
}

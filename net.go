// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"net"
	"sync"

	"github.com/arke-mesh/arke/internal/conn"
	"github.com/arke-mesh/arke/patterns"
)

// Listen makes the program a member of the cluster that accepts connections. A
// net/http or gRPC server can serve the listener as it is. Close makes the member
// leave the cluster. Connections that were accepted go on. Addr returns the cluster's
// name. Its network is "arke".
//
// A connection that was accepted lasts until its Close, also if the caller has closed it
// before: Read returns io.EOF after the last byte. RemoteAddr is the peer id of the
// caller's node. Connections that were not accepted when the listener closes are reset.
//
// Listen fails after 5 s. Its errors are those of Serve.
func (c *Conn) Listen(cluster string, opts ...ServeOption) (net.Listener, error) {
	l := &listener{conn: c, cluster: cluster, came: make(chan net.Conn), shut: make(chan struct{})}
	r, err := c.Serve(context.Background(), cluster, Service{Tunnel: l.take}, opts...)
	if err != nil {
		return nil, err
	}
	l.member = r
	if !c.note(func() { c.doors[l] = true }) {
		_ = l.Close()
		return nil, ErrClosed
	}
	return l, nil
}

// Dial connects to one member of the cluster, as OpenTunnel does. ctx bounds only
// the connecting. The member is a program that listens (Listen), or a TCP service
// behind `arke expose`.
//
// The errors of the net.Conn are those of a Tunnel, os.ErrDeadlineExceeded and
// net.ErrClosed. After the member's Close, Write returns ErrPeerClosed. If the member did
// not read all that was written, Read returns it, too, instead of io.EOF; then it matches
// syscall.ECONNRESET.
func (c *Conn) Dial(ctx context.Context, cluster string, opts ...RequestOption) (net.Conn, error) {
	t, err := c.m.OpenTunnel(ctx, cluster, patterns.Message{}, collect(opts).inner...)
	if err != nil {
		return nil, outward(err)
	}
	return &stream{conn.New(t)}, nil
}

// stream is a tunnel as a net.Conn, with this package's errors.
type stream struct{ *conn.Conn }

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	return n, outward(err)
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	return n, outward(err)
}

// listener is a member that accepts connections.
type listener struct {
	conn    *Conn
	cluster string
	member  *Registration
	came    chan net.Conn // unbuffered
	once    sync.Once
	shut    chan struct{} // closed: nothing is accepted any more
}

// take keeps one tunnel until it is accepted. One that the caller has closed meanwhile
// is still to be read.
func (l *listener) take(_ context.Context, t *Tunnel) error {
	select {
	case l.came <- &stream{conn.Accept(t.inner)}:
		return nil
	case <-l.shut:
		return &RemoteError{Cluster: l.cluster, Message: "the listener is closed"}
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case s := <-l.came:
		return s, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The connections that were accepted outlive it,
// and so does the registration, which waits for them.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.shut)
		l.conn.mu.Lock()
		defer l.conn.mu.Unlock()
		delete(l.conn.doors, l)
		l.conn.work.Go(func() { _ = l.member.Close(context.Background()) })
	})
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address(l.cluster) }

// address is the name of a cluster as a net.Addr.
type address string

// Network implements net.Addr.
func (address) Network() string { return "arke" }

// String implements net.Addr.
func (a address) String() string { return string(a) }

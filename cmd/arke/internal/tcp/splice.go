// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/patterns"
)

// pieceBytes is how much one read takes at most: one chunk of a tunnel.
const pieceBytes = 64 << 10

type buffer [pieceBytes]byte

// Splicer copies between connections and tunnels. The zero value is ready; its
// methods may be called concurrently.
type Splicer struct {
	buffers sync.Pool
}

func (s *Splicer) take() *buffer {
	if b, ok := s.buffers.Get().(*buffer); ok {
		return b
	}
	return new(buffer)
}

func (s *Splicer) release(b *buffer) {
	if b != nil {
		s.buffers.Put(b)
	}
}

// Splice copies in both directions until both have ended, and closes both
// sides. It returns nil if they ended in good order, else what went wrong
// first. When ctx ends, both sides are reset.
func (s *Splicer) Splice(ctx context.Context, conn *net.TCPConn, t patterns.Tunnel) error {
	r, err := s.reader(conn)
	if err != nil {
		_ = t.Reset(patterns.CodeUnknown, err.Error())
		abort(conn)
		return err
	}
	p := &splice{conn: conn, reader: r, tunnel: t}
	if t, ok := t.(deliverer); ok {
		now := nowait.New(conn, nil)
		t.DeliverTo(func(b []byte) int {
			n, _ := now.Write(b) // the next write finds the error
			return n
		})
	}
	stop := context.AfterFunc(ctx, func() { p.fail(ctx.Err()) })
	defer stop()

	up := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(up)
		p.up(ctx)
	})
	p.down(ctx)
	p.rest(up)
	wg.Wait()
	_ = conn.Close()
	_ = t.Close()
	return p.cause()
}

// deliverer is a tunnel that gives what comes to who reads it without a goroutine
// between: see tunnel.DeliverTo.
type deliverer interface {
	DeliverTo(try func(b []byte) int)
}

// splice is one connection and its tunnel.
type splice struct {
	// Immutable after creation.
	conn   *net.TCPConn
	reader *reader
	tunnel patterns.Tunnel

	once sync.Once
	mu   sync.Mutex
	err  error // guarded by mu: what went wrong first
}

// up sends what the connection reads.
func (p *splice) up(ctx context.Context) {
	for {
		b, n, err := p.reader.next()
		if n > 0 {
			if sendErr := p.tunnel.Send(ctx, b[:n]); sendErr != nil {
				p.reader.s.release(b)
				if errors.Is(sendErr, patterns.ErrPeerClosed) {
					p.discard() // down may have more to write
				} else {
					p.fail(sendErr)
				}
				return
			}
		}
		p.reader.s.release(b)
		if errors.Is(err, io.EOF) {
			if err := p.tunnel.CloseSend(); err != nil {
				p.fail(err)
			}
			return
		}
		if err != nil {
			p.fail(err)
			return
		}
	}
}

// discard reads what nobody takes, until the connection ends: one that is closed with
// something unread is reset, and what was written to it may be lost.
func (p *splice) discard() {
	for err := error(nil); err == nil; {
		var b *buffer
		b, _, err = p.reader.next()
		p.reader.s.release(b)
	}
}

// down writes what the tunnel receives.
func (p *splice) down(ctx context.Context) {
	for {
		_, err := p.tunnel.ReceiveTo(ctx, p.conn)
		if errors.Is(err, io.EOF) {
			// An error means that the connection has ended meanwhile, which
			// whoever reads it finds out, too.
			_ = p.conn.CloseWrite()
			return
		}
		if err != nil {
			p.fail(err)
			return
		}
	}
}

// rest waits for the other direction, after down has ended: nobody would
// notice else that the tunnel ends while the connection is silent.
func (p *splice) rest(up <-chan struct{}) {
	select {
	case <-up:
		return
	case <-p.tunnel.Done():
	}
	err := p.tunnel.Err()
	if err == nil || errors.Is(err, patterns.ErrPeerClosed) { // the member takes nothing more
		select {
		case <-up:
		case <-time.After(farewell):
		}
	}
	if err != nil {
		p.fail(err)
	} else {
		_ = p.conn.Close()
	}
	<-up
}

// farewell is how long a connection stays after its tunnel, for the other side to read
// what was written and to end it.
const farewell = 500 * time.Millisecond

// fail resets both sides, once.
func (p *splice) fail(err error) {
	if errors.Is(err, net.ErrClosed) {
		return // whoever closed the connection has said why
	}
	p.once.Do(func() {
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		_ = p.tunnel.Reset(patterns.CodeUnknown, reason(err))
		abort(p.conn)
	})
}

func (p *splice) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// abort closes the connection so that the other side sees a reset, not an end
// in good order.
func abort(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// reason says in a few words what the other side is told.
func reason(err error) string {
	var system syscall.Errno
	if errors.As(err, &system) {
		return system.Error()
	}
	return err.Error()
}

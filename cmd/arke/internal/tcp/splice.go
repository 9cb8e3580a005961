// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/patterns"
)

// pieceBytes is how much one read takes at most: one chunk of a tunnel.
const pieceBytes = 64 << 10

// parting is how long a connection whose other side has ended both directions may take
// to end: net/http's and nginx's servers give their clients such a time, too.
const parting = time.Second

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

// guard has the kernel reset the connection if this process ends without having
// closed it: what its peer has read then must not look whole.
func guard(conn *net.TCPConn) { _ = conn.SetLinger(0) }

// closeOrderly closes a guarded connection so that all that was written arrives.
func closeOrderly(conn *net.TCPConn) {
	_ = conn.SetLinger(-1)
	_ = conn.Close()
}

// Splice copies in both directions until both have ended, and closes both
// sides. It returns nil if they ended in good order, else what went wrong
// first. When ctx ends, both sides are reset, and the connection is if the process
// is killed.
func (s *Splicer) Splice(ctx context.Context, conn *net.TCPConn, t patterns.Tunnel) error {
	guard(conn)
	r, err := s.reader(conn)
	if err != nil {
		_ = t.Reset(patterns.CodeUnknown, err.Error())
		abort(conn)
		return err
	}
	p := &splice{conn: conn, reader: r, tunnel: t, upOver: make(chan struct{})}
	if t, ok := t.(deliverer); ok {
		now := nowait.New(conn, nil)
		t.DeliverTo(func(b []byte) int {
			n, err := now.Write(b)
			p.noteWrite(err)
			return n
		})
	}
	stop := context.AfterFunc(ctx, func() { p.fail(ctx.Err()) })
	defer stop()

	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(p.upOver)
		p.up(ctx)
	})
	p.down(ctx)
	p.rest()
	wg.Wait()
	if err := p.cause(); err != nil {
		return err
	}
	closeOrderly(conn)
	_ = t.Close()
	return nil
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
	upOver chan struct{} // closed when up has ended

	once sync.Once
	mu   sync.Mutex
	// Guarded by mu.
	err      error // what went wrong first
	writeErr error // of the connection, the first one
}

// up sends what the connection reads. When the other side has closed, what comes is
// read and dropped: to close then would reset the connection, and the end of what the
// other side has said would be lost with it.
func (p *splice) up(ctx context.Context) {
	for wanted := true; ; {
		b, n, err := p.reader.next()
		if n > 0 && wanted {
			if sendErr := p.tunnel.Send(ctx, b[:n]); sendErr != nil {
				if !errors.Is(sendErr, patterns.ErrPeerClosed) {
					p.reader.s.release(b)
					p.fail(sendErr)
					return
				}
				wanted = false
			}
		}
		p.reader.s.release(b)
		switch {
		case err == nil:
			continue
		case !wanted, errors.Is(err, os.ErrDeadlineExceeded): // see rest
		case errors.Is(err, io.EOF):
			err := p.unwritable()
			if err == nil {
				err = p.tunnel.CloseSend()
			}
			if err != nil {
				p.fail(err)
			}
		default:
			p.fail(err)
		}
		return
	}
}

// Write writes to the connection. After an error it drops what comes until up has
// ended, which still reads what the peer had sent before it closed.
func (p *splice) Write(b []byte) (int, error) {
	err := p.unwritable()
	if err == nil {
		n, err := p.conn.Write(b)
		if p.noteWrite(err); err == nil {
			return n, nil
		}
	}
	select {
	case <-p.upOver:
		return 0, p.unwritable()
	default:
		return len(b), nil
	}
}

// noteWrite keeps the first error of a write. The kernel tells of a reset once: a read
// that follows finds an end in good order.
func (p *splice) noteWrite(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writeErr == nil {
		p.writeErr = err
	}
}

func (p *splice) unwritable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writeErr
}

// down writes what the tunnel receives.
func (p *splice) down(ctx context.Context) {
	for {
		_, err := p.tunnel.ReceiveTo(ctx, p)
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
func (p *splice) rest() {
	select {
	case <-p.upOver:
		return
	case <-p.tunnel.Done():
	}
	err := p.tunnel.Err()
	if err == nil || errors.Is(err, patterns.ErrPeerClosed) { // the member takes nothing more
		_ = p.conn.SetReadDeadline(time.Now().Add(parting))
		<-p.upOver
	}
	if err != nil {
		p.fail(err)
	}
}

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

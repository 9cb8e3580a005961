// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package unixsock

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/internal/nowait"
)

// sendBuffer is what the kernel is asked to hold for a reader that is behind, in
// bytes. It gives at most net.core.wmem_max, and doubles that for its own records:
// 416 KiB where nobody has changed it, twice what it gives unasked, in which three
// messages of 64 KiB have room. With twice as many under way a long message costs
// half the context switches.
const sendBuffer = 1 << 20

// Conn is a unix socket that is quiet.
type Conn struct {
	// Immutable.
	from, to net.Addr
	fd       int
	in       *watch // for what can be read; its lock also keeps fd open
	read     *nowait.Reader

	// Held by who writes and may wait.
	writing sync.Mutex

	// Guarded by mu.
	mu     sync.Mutex
	out    *watch // for room; nil = never was there none
	until  time.Time
	closed bool
}

var (
	_ net.Conn     = (*Conn)(nil)
	_ syscall.Conn = (*Conn)(nil)
)

// Quiet returns a connection that takes the place of c, which is not to be used any
// more; or c, if it is no unix socket, or that can't be done.
func Quiet(c net.Conn) net.Conn {
	s, ok := c.(*net.UnixConn)
	if !ok {
		return c
	}
	q, err := newConn(s)
	if err != nil {
		return c
	}
	c.Close()
	return q
}

// Of returns c if it is a unix socket, quiet or not.
func Of(c net.Conn) (syscall.Conn, bool) {
	switch s := c.(type) {
	case *net.UnixConn:
		return s, true
	case *Conn:
		return s, true
	}
	return nil, false
}

func newConn(s *net.UnixConn) (*Conn, error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	err = raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	in, err := newWatch(fd, unix.EPOLLIN|unix.EPOLLRDHUP)
	if err != nil {
		syscall.Close(fd)
		return nil, err
	}
	c := &Conn{from: s.LocalAddr(), to: s.RemoteAddr(), fd: fd, in: in}
	c.read = nowait.ReaderOf(newRaw(c), nil)
	return c, nil
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) { return c.read.Read(p) }

// explain says what the end of a wait means.
func explain(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.WriteParts([][]byte{p})
	return int(n), err
}

// WriteParts writes parts, one after the other, in as few calls as possible. It
// changes parts, but not what is in them.
func (c *Conn) WriteParts(parts net.Buffers) (n int64, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	parts = after(parts, 0)
	once := func(uintptr) bool {
		for len(parts) > 0 {
			var m int
			if m, err = unix.Writev(c.fd, parts[:min(len(parts), maxParts)]); m > 0 {
				n += int64(m)
				parts = after(parts, m)
			}
			if err != nil && err != syscall.EINTR {
				break
			}
			err = nil
		}
		return err != syscall.EAGAIN
	}
	failed := c.in.raw.Write(func(fd uintptr) bool {
		once(fd)
		return true
	})
	if failed == nil && err == syscall.EAGAIN {
		failed = c.wait(once)
	}
	if failed != nil {
		return n, explain(failed)
	}
	if err != nil {
		err = os.NewSyscallError("write", err)
	}
	return n, err
}

// after returns what is left of parts behind n bytes, and behind empty parts.
func after(parts [][]byte, n int) [][]byte {
	for len(parts) > 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n > 0 {
		parts[0] = parts[0][n:]
	}
	return parts
}

// wait calls f whenever there may be room, until it is true.
func (c *Conn) wait(f func(uintptr) bool) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	err := error(nil)
	if c.out == nil {
		c.out, err = newWatch(c.fd, 0)
	}
	out := c.out
	if err == nil {
		err = out.file.SetReadDeadline(c.until)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := out.ask(c.fd, unix.EPOLLOUT); err != nil {
		return err
	}
	defer out.ask(c.fd, 0)
	return out.raw.Read(f)
}

// maxParts is how many parts the kernel takes in one call.
const maxParts = 1024

// SyscallConn implements syscall.Conn. What it returns is not for concurrent use; its
// Write does not wait: f is called once.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return newRaw(c), nil }

func newRaw(c *Conn) *raw {
	r := &raw{c: c}
	r.once = func(uintptr) bool {
		r.f(uintptr(c.fd))
		return true
	}
	r.until = func(uintptr) bool { return r.f(uintptr(c.fd)) }
	return r
}

type raw struct {
	c           *Conn
	f           func(uintptr) bool
	once, until func(uintptr) bool // call f
}

func (r *raw) Control(f func(uintptr)) error {
	return r.c.in.raw.Control(func(uintptr) { f(uintptr(r.c.fd)) })
}

func (r *raw) Read(f func(uintptr) bool) error {
	r.f = f
	return explain(r.c.in.raw.Read(r.until))
}

func (r *raw) Write(f func(uintptr) bool) error {
	r.f = f
	return explain(r.c.in.raw.Write(r.once))
}

// CloseWrite ends this direction.
func (c *Conn) CloseWrite() (err error) {
	failed := c.in.raw.Control(func(uintptr) { err = syscall.Shutdown(c.fd, syscall.SHUT_WR) })
	if failed != nil {
		return net.ErrClosed
	}
	return err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	out := c.out
	c.mu.Unlock()
	// They return when nobody uses fd any more.
	c.in.file.Close()
	if out != nil {
		out.file.Close()
	}
	return syscall.Close(c.fd)
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.from }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.to }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.file.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. What has room at once is written later,
// too.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	if c.out == nil {
		return nil
	}
	return c.out.file.SetReadDeadline(t)
}

// watch is an epoll instance with one socket in it, which the runtime watches.
type watch struct {
	file *os.File
	raw  syscall.RawConn
}

func newWatch(fd int, events uint32) (*watch, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err == nil {
		err = unix.SetNonblock(ep, true) // or the runtime would not watch it
	}
	if err != nil {
		syscall.Close(ep)
		return nil, err
	}
	file, raw, err := nowait.Watched(ep, "epoll")
	if err != nil {
		return nil, err
	}
	return &watch{file, raw}, nil
}

// ask changes what is watched for.
func (w *watch) ask(fd int, events uint32) (err error) {
	failed := w.raw.Control(func(ep uintptr) {
		err = unix.EpollCtl(int(ep), unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	})
	return errors.Join(failed, err)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

import (
	"cmp"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// Writer writes to a connection without waiting, but for WriteAll. Not for concurrent use.
type Writer struct {
	c       net.Conn
	raw     syscall.RawConn
	apart   atomic.Bool
	attempt func(fd uintptr) bool // made once: it is called for each write

	b     []byte
	parts [][]byte // instead of b
	n     int
	err   error
}

// New returns a Writer to c, or nil if c is no socket of the operating system. calls, if
// not nil, are those that it makes.
func New(c net.Conn, calls *Calls) *Writer {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	w := &Writer{c: c, raw: raw}
	w.attempt = func(fd uintptr) bool {
		switch {
		case w.parts != nil:
			w.n, w.err = onceParts(fd, w.parts)
		case w.apart.Load():
			w.n, w.err = onceApart(fd, w.b)
		default:
			w.n, w.err = once(calls, fd, w.b)
		}
		return true
	}
	return w
}

// Apart has what Write and WriteAll write share no buffer of the kernel with what comes
// later, where the kernel can do that. Else it fills its last buffer, up to 64 KiB, however
// little may wait in all (TCP_NOTSENT_LOWAT): on a slow line that is most of what waits.
// A nil Writer does nothing. It may be called at any time.
func (w *Writer) Apart(on bool) {
	if w != nil {
		w.apart.Store(on)
	}
}

// Write writes the first n bytes of b: as much as the kernel takes at once, which
// may be nothing. Where the operating system can't do that, and after c's write
// deadline, it is nothing, and no error. A nil Writer writes nothing.
func (w *Writer) Write(b []byte) (n int, err error) {
	if w == nil {
		return 0, nil
	}
	w.b = b
	return w.try()
}

// WriteAll writes all of b, and waits for it, as c's own Write does. Not of a nil Writer.
func (w *Writer) WriteAll(b []byte) (n int, err error) {
	if !w.apart.Load() {
		return w.c.Write(b)
	}
	for n < len(b) && err == nil {
		var m int
		var failed error
		err = w.raw.Write(func(fd uintptr) bool {
			m, failed = onceApart(fd, b[n:])
			return m > 0 || failed != nil
		})
		n += max(m, 0)
		err = cmp.Or(err, failed)
	}
	return n, err
}

// WriteParts is Write of what parts are together. Beyond some thousand, parts wait.
func (w *Writer) WriteParts(parts [][]byte) (n int, err error) {
	if w == nil {
		return 0, nil
	}
	w.parts = parts
	return w.try()
}

// try makes one attempt.
func (w *Writer) try() (n int, err error) {
	w.n, w.err = 0, nil
	err = w.raw.Write(w.attempt)
	w.b, w.parts = nil, nil
	if w.err != nil {
		err = w.err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return max(w.n, 0), err
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Writer writes to a connection without waiting. Not for concurrent use.
type Writer struct {
	raw     syscall.RawConn
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
	w := &Writer{raw: raw}
	w.attempt = func(fd uintptr) bool {
		if w.parts != nil {
			w.n, w.err = onceParts(fd, w.parts)
		} else {
			w.n, w.err = once(calls, fd, w.b)
		}
		return true
	}
	return w
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

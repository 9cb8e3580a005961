// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package nowait

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Reader reads from a socket with Calls. Its method may be called concurrently.
type Reader struct {
	raw   syscall.RawConn
	calls *Calls

	mu      sync.Mutex
	attempt func(fd uintptr) bool // made once: it is called for each read
	p       []byte
	n       int
	err     error
}

// NewReader returns a Reader of c, or nil if c is no socket of the operating system or
// there is nothing to gain, as calls is nil: then c's own Read is as good.
func NewReader(c net.Conn, calls *Calls) *Reader {
	s, ok := c.(syscall.Conn)
	if !ok || calls == nil {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return ReaderOf(raw, calls)
}

// ReaderOf returns a Reader of the socket behind raw, with calls, which may be nil.
func ReaderOf(raw syscall.RawConn, calls *Calls) *Reader {
	r := &Reader{raw: raw, calls: calls}
	r.attempt = r.once
	return r
}

// once reads what is there; false = nothing yet.
func (r *Reader) once(fd uintptr) bool {
	for {
		r.n, r.err = r.calls.Read(int(fd), r.p)
		if !errors.Is(r.err, syscall.EINTR) {
			return !errors.Is(r.err, syscall.EAGAIN)
		}
	}
}

// Read is Read of a net.Conn.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p, r.n, r.err = p, 0, nil
	err := r.raw.Read(r.attempt)
	r.p = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, os.NewSyscallError("read", r.err)
	case r.n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tcp

import (
	"io"
	"net"
	"syscall"
)

// reader reads what a connection has. It takes a buffer only when there is
// something to read, so that ten thousand idle connections hold none.
type reader struct {
	raw syscall.RawConn
	s   *Splicer
}

func (s *Splicer) reader(conn *net.TCPConn) (*reader, error) {
	raw, err := conn.SyscallConn()
	return &reader{raw, s}, err
}

// next returns what one read gave; the caller releases b, if not nil.
func (r *reader) next() (b *buffer, n int, err error) {
	waitErr := r.raw.Read(func(fd uintptr) bool {
		b = r.s.take()
		n, err = read(int(fd), b[:])
		if err == syscall.EAGAIN {
			r.s.release(b)
			b, n, err = nil, 0, nil
			return false
		}
		return true
	})
	switch {
	case waitErr != nil:
		err = waitErr
	case err == nil && n == 0:
		err = io.EOF
	}
	return b, max(n, 0), err
}

func read(fd int, p []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, p)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

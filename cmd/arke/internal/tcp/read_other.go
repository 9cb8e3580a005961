// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package tcp

import "net"

// reader reads what a connection has, with a buffer in hand.
type reader struct {
	conn *net.TCPConn
	s    *Splicer
}

func (s *Splicer) reader(conn *net.TCPConn) (*reader, error) { return &reader{conn, s}, nil }

// next returns what one read gave; the caller releases b.
func (r *reader) next() (b *buffer, n int, err error) {
	b = r.s.take()
	n, err = r.conn.Read(b[:])
	return b, n, err
}

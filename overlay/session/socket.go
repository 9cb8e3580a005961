// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net"

	"github.com/arke-mesh/arke/internal/nowait"
)

// Socket is a socket of the operating system as an Owned Conn: who sends writes at
// once what the kernel takes, and what is not one run of bytes leaves without a copy.
type Socket struct {
	netConn
	now     *nowait.Writer
	in      *nowait.Reader // nil = Conn itself
	patient func() error   // nil = nothing

	// Owned by who writes.
	vector net.Buffers
	joined []byte
}

// vectored is a connection that package net does not know and that writes many parts
// at once. It may change parts, but not what is in them.
type vectored interface {
	WriteParts(parts net.Buffers) (int64, error)
}

// gatherLimit is how much is copied to be written at once, in bytes: of more, the parts are.
const gatherLimit = 16 << 10

// NewSocket returns c as a Socket, or nil if it is none. calls, if not nil, are those by
// which it is read and written. patient, if not nil, is called before each write that
// may wait.
func NewSocket(c net.Conn, calls *nowait.Calls, patient func() error) *Socket {
	now := nowait.New(c, calls)
	if now == nil {
		return nil
	}
	return &Socket{netConn: netConn{c}, now: now, in: nowait.NewReader(c, calls), patient: patient}
}

// Read implements Conn.
func (s *Socket) Read(p []byte) (int, error) {
	if s.in == nil {
		return s.Conn.Read(p)
	}
	return s.in.Read(p)
}

// Write implements Conn.
func (s *Socket) Write(p []byte) (int, error) {
	if s.patient != nil {
		if err := s.patient(); err != nil {
			return 0, err
		}
	}
	return s.Conn.Write(p)
}

// WriteAll implements Owned.
func (s *Socket) WriteAll(size int, parts ...[]byte) (int, error) {
	if p := only(size, parts); p != nil {
		return s.Write(p)
	}
	if s.patient != nil {
		if err := s.patient(); err != nil {
			return 0, err
		}
	}
	if c, ok := s.Conn.(vectored); ok {
		n, err := c.WriteParts(parts)
		return int(n), err
	}
	s.vector = parts
	n, err := s.vector.WriteTo(s.Conn)
	s.vector = nil
	return int(n), err
}

// TryWrite implements Owned.
func (s *Socket) TryWrite(size int, parts ...[]byte) (int, error) {
	p := only(size, parts)
	if p == nil {
		if size > gatherLimit {
			return s.now.WriteParts(parts)
		}
		s.joined = s.joined[:0]
		for _, part := range parts {
			s.joined = append(s.joined, part...)
		}
		p = s.joined
	}
	return s.now.Write(p)
}

// only returns the part that is all of parts, or nil.
func only(size int, parts [][]byte) []byte {
	for _, p := range parts {
		if len(p) == size {
			return p
		}
		if len(p) > 0 {
			return nil
		}
	}
	return nil
}

// Unsent implements Owned: what is between two programs on one machine is little.
func (s *Socket) Unsent(int) {}

// Drive implements Owned.
func (s *Socket) Drive(bool) {}

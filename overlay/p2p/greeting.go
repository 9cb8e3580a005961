// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
	"github.com/arke-mesh/arke/security"
)

// A connection begins with the dialler's greeting and its ClientHello, which is one
// TLS record, in one write. The acceptor says nothing before it has checked the
// greeting.
const (
	recordHead   = 5
	maxHello     = 4 << 10 // of the record, with its head
	typeRecord   = 22      // handshake
	majorVersion = 3       // of every TLS there is
)

// dialling is what TLS of a dialler writes to and reads from.
type dialling struct {
	*mux.QueuedConn
	greet func(hello []byte) [security.GreetingSize]byte // nil once it was called
	heard bool                                           // any byte, by who reads
}

// Write implements net.Conn. The first one is the ClientHello.
func (d *dialling) Write(p []byte) (int, error) {
	if d.greet == nil {
		return d.QueuedConn.Write(p)
	}
	greeting := d.greet(p)
	d.greet = nil
	n, err := d.QueuedConn.Write(append(greeting[:], p...))
	return max(n-len(greeting), 0), err
}

// Read implements net.Conn.
func (d *dialling) Read(p []byte) (int, error) {
	n, err := d.QueuedConn.Read(p)
	d.heard = d.heard || n > 0
	return n, err
}

// accepting is what TLS of an acceptor writes to and reads from. While it waits for
// the peer, in the handshake, others have its turn.
type accepting struct {
	*mux.QueuedConn
	hello []byte // to be read first
	ctx   context.Context
	guest *guest // nil once the handshake is over
}

// Read implements net.Conn.
func (a *accepting) Read(p []byte) (int, error) {
	if len(a.hello) > 0 {
		n := copy(p, a.hello)
		if a.hello = a.hello[n:]; len(a.hello) == 0 {
			a.hello = nil // it would last as long as the connection
		}
		return n, nil
	}
	if a.guest == nil {
		return a.QueuedConn.Read(p)
	}
	a.guest.rest()
	n, err := a.QueuedConn.Read(p)
	if err == nil {
		err = a.guest.resume(a.ctx)
	}
	return n, err
}

// readGreeting reads what a connection begins with.
func readGreeting(c net.Conn) (greeting [security.GreetingSize]byte, hello []byte, _ error) {
	var head [security.GreetingSize + recordHead]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return greeting, nil, err
	}
	copy(greeting[:], head[:])
	record := head[security.GreetingSize:]
	size := recordHead + int(record[3])<<8 + int(record[4])
	if record[0] != typeRecord || record[1] != majorVersion || size > maxHello {
		return greeting, nil, errStranger
	}
	hello = make([]byte, size)
	copy(hello, record)
	_, err := io.ReadFull(c, hello[recordHead:])
	return greeting, hello, err
}

// readGreeting reads the greeting of an accepted connection and checks it. It
// returns the ClientHello, and what it is known by.
func (s *securer) readGreeting(g *guest) (hello []byte, mark uint64, _ error) {
	if err := g.conn.SetReadDeadline(g.by); err != nil {
		return nil, 0, err
	}
	greeting, hello, err := readGreeting(g.conn)
	ok := false
	if err == nil {
		mark, ok = s.admitted.CheckGreeting(greeting[:], hello)
	}
	switch {
	case ok:
		return hello, mark, g.conn.SetReadDeadline(time.Time{})
	case err == nil || errors.Is(err, errStranger):
		s.counters.add(countStranger)
		s.warn("somebody does not hold a key of this network", g.conn, errStranger)
		return nil, 0, errStranger
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.counters.add(countStrangerSilent)
	}
	return nil, 0, fmt.Errorf("p2p: no greeting: %w", err)
}

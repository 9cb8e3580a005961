// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"

	"github.com/arke-mesh/arke/internal/wire"
)

// RunLoop has the session carry what its owner sends to itself: it has the lanes,
// windows and order of any other, but no connection below. It returns when End is
// called or Config.Done is closed, and after Leave, once everything was handled:
// there is no peer to wait for.
func (s *Session) RunLoop() error {
	a := &attachment{s: s, over: make(chan struct{}), gone: make(chan struct{})}
	a.conn = &Carrier{Conn: &loop{a: a}}
	a.conn.Frames = wire.NewFrameReader(a.conn)
	s.in.own = true
	_, err := a.handle()
	return err
}

// loop is a connection to ourselves: reading takes from the queue. Nothing writes.
type loop struct {
	Conn // nil: nobody calls the rest

	a    *attachment
	at   int    // of a.spans
	rest []byte // of the one before …
	loan []byte // … and what stands behind that
}

// Read implements io.Reader.
func (l *loop) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		l.rest, l.loan = l.loan, nil
	}
	for len(l.rest) == 0 {
		if l.at == len(l.a.spans) && !l.advance() {
			return 0, io.EOF
		}
		l.rest, l.loan = l.a.spans[l.at].b, l.a.spans[l.at].loan
		l.at++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// advance waits for the next batch. What the one before had was copied: that is
// its acknowledgement.
func (l *loop) advance() bool {
	b := l.a.s.out
	b.consumed()
	for l.at = 0; ; {
		switch step, _ := l.a.next(); step {
		case stepStop:
			return false
		case stepWrite:
			return true
		case stepLeave:
			l.a.s.End()
			return false
		}
		select {
		case <-b.kick:
		case <-b.cfg.Done:
			return false
		}
	}
}

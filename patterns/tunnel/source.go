// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"io"
	"sync"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// source is what a relay uses that takes chunks itself: patterns.TunnelSource.
type source struct {
	f       func()
	calling bool
	again   bool // something happened since the call began
	offered int  // bytes sent already of the chunk that Offer refused last
	asked   bool // to be told of room; guarded by guests' mu
}

func (s *source) watched() bool { return s.f != nil }

// guests are those who found no room in a remote's lanes and want to know of it.
type guests struct {
	mu  sync.Mutex
	all []*Tunnel
}

func (g *guests) add(t *Tunnel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.source.asked {
		t.source.asked = true
		g.all = append(g.all, t)
	}
}

// invite tells them if little enough is in line.
func (g *guests) invite(inLine int) {
	if inLine > lineBytes/2 {
		return
	}
	g.mu.Lock()
	all := g.all
	g.all = nil
	for _, t := range all {
		t.source.asked = false
	}
	g.mu.Unlock()
	for _, t := range all {
		t.tell(false)
	}
}

// mine takes a turn, except for a watcher: it is called in one.
func (t *Tunnel) mine(name string) {
	t.mu.Lock()
	watched := t.source.watched()
	t.mu.Unlock()
	if !watched {
		t.turn(name)
	}
}

// Interrupt ends both directions because the program that this tunnel led to,
// behind the one that holds it, is lost.
func (t *Tunnel) Interrupt() { t.end(wire.CauseInterrupted, patterns.ErrClosed) }

// Notify implements patterns.TunnelSource.
func (t *Tunnel) Notify(f func()) {
	t.mu.Lock()
	t.source.f = f
	t.mu.Unlock()
	t.tell(true)
}

// tell calls the watcher. own says that it is the owner who has called, and may
// hold locks that f takes: then another goroutine calls f.
func (t *Tunnel) tell(own bool) {
	t.mu.Lock()
	s := &t.source
	idle := s.f != nil && !s.calling
	s.again = true
	s.calling = s.calling || idle
	t.mu.Unlock()
	switch {
	case !idle:
	case own:
		t.engine.later("tunnel.notify", 0, t.callBack)
	default:
		t.wake("tunnel.notify", t.callBack)
	}
}

func (t *Tunnel) callBack() {
	t.mu.Lock()
	for t.source.again {
		t.source.again = false
		t.mu.Unlock()
		t.source.f()
		t.mu.Lock()
	}
	t.source.calling = false
	t.mu.Unlock()
}

// Take implements patterns.TunnelSource.
func (t *Tunnel) Take() (data []byte, last, more bool, err error) {
	t.mu.Lock()
	defer t.unlock(true)
	switch err := t.state.next(); err {
	case nil:
		c := t.state.in.Pop()
		// What a short chunk costs beside its bytes is free again at once:
		// Return knows bytes only.
		t.receiver.consumed(credit.Cost(len(c.data)) - len(c.data))
		return c.data, c.last, true, nil
	case errNothing:
		return nil, false, false, nil
	case io.ErrUnexpectedEOF:
		return nil, false, false, io.EOF
	default:
		return nil, false, false, err
	}
}

// Return implements patterns.TunnelSource.
func (t *Tunnel) Return(n int) {
	t.mu.Lock()
	t.receiver.consumed(n)
	t.unlock(true)
}

// Recycle implements patterns.TunnelSource.
func (t *Tunnel) Recycle(chunk []byte) { t.remote.recycle(chunk) }

// Offer implements patterns.TunnelSource. If there is credit for a part of the
// chunk only, that part goes, and Offer returns ErrWouldBlock: the same chunk,
// offered again, goes on from there.
func (t *Tunnel) Offer(chunk []byte, last bool) error {
	t.mu.Lock()
	err := t.state.maySend()
	if err == nil && !t.sender.try() {
		err = patterns.ErrWouldBlock
	}
	if err != nil {
		t.unlock(true)
		return err
	}
	rest := chunk[min(t.source.offered, len(chunk)):]
	for {
		room := t.remote.room(min(len(rest), maxChunk))
		if !room {
			t.remote.guests.add(t)
		}
		n, ok := 0, false
		if room {
			n, ok = t.state.out.Piece(len(rest), maxChunk)
		}
		if !ok {
			err = patterns.ErrWouldBlock
			break
		}
		t.unlock(true)
		t.sender.transmitNow(rest[:n], last && n == len(rest))
		t.mu.Lock()
		if rest = rest[n:]; len(rest) == 0 {
			t.source.offered = 0
			break
		}
		t.source.offered = len(chunk) - len(rest)
	}
	t.sender.leave()
	return err
}

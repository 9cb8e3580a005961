// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

const (
	// pieceSize is how many bytes of a stream travel together at most.
	pieceSize = 16 << 10
	// maxPieces is how many are under way at once in one direction of a
	// connection; then the sender waits.
	maxPieces = 64
	// dialPatience is how long a dial goes on that nobody answers.
	dialPatience = 2 * time.Minute
)

// passage is one connection through a gate.
type passage struct {
	// Immutable.
	proxies  *proxies
	from, to string
	near     *net.TCPConn // to the relay that dialled
	done     chan struct{}

	// Guarded by mu.
	mu   sync.Mutex
	far  *net.TCPConn // to the relay behind the gate; nil before it is connected
	over bool
}

// piece is a part of a stream that is under way.
type piece struct {
	arrive time.Duration
	bytes  []byte // empty = nothing follows
	reset  bool   // nothing follows, because the sender broke the connection
}

func newPassage(p *proxies, near *net.TCPConn, from, to string) *passage {
	return &passage{proxies: p, from: from, to: to, near: near, done: make(chan struct{})}
}

// finish ends the passage; abruptly means that both sides see a reset.
func (x *passage) finish(abruptly bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	close(x.done)
	for _, c := range []*net.TCPConn{x.near, x.far} {
		if c == nil {
			continue
		}
		if abruptly {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
	}
}

// run connects to the relay and passes on both directions until both ended.
func (x *passage) run(target string) {
	far, ok := x.connect(target)
	if !ok {
		x.finish(true)
		return
	}
	var wg sync.WaitGroup
	x.pump(&wg, x.near, far, way{x.from, x.to})
	x.pump(&wg, far, x.near, way{x.to, x.from})
	wg.Wait()
	x.finish(false)
}

// connect takes as long as the handshake of TCP would.
func (x *passage) connect(target string) (*net.TCPConn, bool) {
	giveUp := x.proxies.now() + dialPatience
	there, back := way{x.from, x.to}, way{x.to, x.from}
	for _, d := range []way{there, back} {
		if !x.open(d, giveUp) || !x.until(x.proxies.now()+x.proxies.wires.flight(d.from, d.to)) {
			return nil, false
		}
	}
	conn, err := net.Dial("tcp4", target)
	if err != nil {
		return nil, false // as a kernel would say: refused
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		_ = conn.Close()
		return nil, false
	}
	x.far = conn.(*net.TCPConn)
	return x.far, true
}

// pump passes on one direction.
func (x *passage) pump(wg *sync.WaitGroup, src, dst *net.TCPConn, d way) {
	pieces := make(chan piece, maxPieces)
	wg.Go(func() { x.read(src, d, pieces) })
	wg.Go(func() { x.write(dst, d, pieces) })
}

func (x *passage) read(src *net.TCPConn, d way, pieces chan<- piece) {
	defer close(pieces)
	var flow link.Flow
	for {
		buf := make([]byte, pieceSize)
		n, err := src.Read(buf)
		if n == 0 && err == nil {
			continue
		}
		arrive, broken := x.proxies.wires.stream(d.from, d.to, &flow, max(1, n))
		if broken {
			x.finish(true)
			return
		}
		p := piece{arrive: arrive, bytes: buf[:n], reset: n == 0 && !errors.Is(err, io.EOF)}
		select {
		case pieces <- p:
		case <-x.done:
			return
		}
		if n == 0 {
			return
		}
	}
}

func (x *passage) write(dst *net.TCPConn, d way, pieces <-chan piece) {
	for p := range pieces {
		if !x.until(p.arrive) || !x.open(d, never) {
			return
		}
		x.proxies.pieces.Add(1)
		switch {
		case p.reset:
			x.finish(true)
			return
		case len(p.bytes) == 0:
			_ = dst.CloseWrite() // an error means that the other side has gone, too
			return
		}
		if x.proxies.wires.takeSpoil(d.from, d.to) {
			p.bytes[len(p.bytes)-1] ^= 1
		}
		if _, err := dst.Write(p.bytes); err != nil {
			return // its reader sees it as well, and tells the sender
		}
	}
}

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// until waits until it is time; false if the passage ends before.
func (x *passage) until(at time.Duration) bool {
	wait := at - x.proxies.now()
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.done:
		return false
	}
}

// open waits until something passes that way; false if the passage ends
// before, or it is too late.
func (x *passage) open(d way, late time.Duration) bool {
	var patience <-chan time.Time
	for {
		ok, changed := x.proxies.wires.open(d.from, d.to)
		if ok {
			return true
		}
		if patience == nil && late != never {
			timer := time.NewTimer(late - x.proxies.now())
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-changed:
		case <-patience:
			return false
		case <-x.done:
			return false
		}
	}
}

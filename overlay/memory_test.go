// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// memNet is a network in memory: reliable streams with a delay, which tests
// can freeze and break.
type memNet struct {
	delay  time.Duration        // one way; fixed before use
	delays func() time.Duration // instead: drawn for each stream and direction

	mu    sync.Mutex
	nodes map[peer.ID]*memTransport // the latest of that id
	addrs map[string]*memTransport
}

func newMemNet() *memNet {
	return &memNet{nodes: make(map[peer.ID]*memTransport), addrs: make(map[string]*memTransport)}
}

func (n *memNet) draw() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.delays != nil {
		return n.delays()
	}
	return n.delay
}

var (
	errRefused = fmt.Errorf("memory: %w", overlay.ErrRefused)
	errReset   = errors.New("memory: stream reset")
)

// memTransport is one node's transport. Two may have the same id: a copied
// data directory.
type memTransport struct {
	net  *memNet
	id   peer.ID
	addr string

	mu          sync.Mutex
	h           overlay.TransportHandler // nil: does not accept
	peers       map[*memTransport]bool
	streams     []*memStream
	dials       []string      // for tests: addresses and ids that were connected to
	hang        chan struct{} // not nil: Open and Connect wait for it
	uncertified bool          // it has no certificate to show; fixed before use
	lift        time.Duration // that it takes to lift a deadline of an incoming stream; fixed before use

	events sync.Mutex // PeerUp and PeerDown do not overlap
}

func (n *memNet) transport(id peer.ID, addr string) *memTransport {
	t := &memTransport{net: n, id: id, addr: addr, peers: make(map[*memTransport]bool)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[id], n.addrs[addr] = t, t
	return t
}

func (t *memTransport) Self() peer.ID   { return t.id }
func (t *memTransport) Addrs() []string { return []string{t.addr} }

func (t *memTransport) Start(h overlay.TransportHandler) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.h = h
	return nil
}

func (t *memTransport) handler() overlay.TransportHandler {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.h
}

func (t *memTransport) Connect(ctx context.Context, c overlay.Candidate) (peer.ID, error) {
	t.mu.Lock()
	hang := t.hang
	t.dials = append(t.dials, fmt.Sprint(string(c.Peer), c.Addrs))
	t.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	other := t.find(c.Peer, c.Addrs)
	if other == nil || other.handler() == nil {
		return "", errRefused
	}
	t.connect(other)
	return other.id, nil
}

func (t *memTransport) find(p peer.ID, addrs []string) *memTransport {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	for _, a := range addrs {
		if n := t.net.addrs[a]; n != nil && (p == "" || n.id == p) {
			return n
		}
	}
	return t.net.nodes[p]
}

func (t *memTransport) connect(other *memTransport) {
	for _, pair := range [][2]*memTransport{{t, other}, {other, t}} {
		a, b := pair[0], pair[1]
		a.events.Lock()
		a.mu.Lock()
		fresh, h := !a.peers[b], a.h
		a.peers[b] = true
		a.mu.Unlock()
		if fresh && h != nil {
			h.PeerUp(b.id)
		}
		a.events.Unlock()
	}
}

func (t *memTransport) Open(ctx context.Context, p peer.ID, addrs []string) (overlay.Stream, error) {
	if _, err := t.Connect(ctx, overlay.Candidate{Peer: p, Addrs: addrs}); err != nil {
		return nil, err
	}
	other := t.find(p, addrs)
	mine, theirs := memPair(t, other)
	h := other.handler()
	if h == nil {
		return nil, errRefused
	}
	time.AfterFunc(theirs.in.delay, func() { h.HandleStream(theirs) })
	return mine, nil
}

func (t *memTransport) Disconnect(p peer.ID) {
	t.net.mu.Lock()
	other := t.net.nodes[p]
	t.net.mu.Unlock()
	if other != nil {
		t.disconnect(other)
	}
}

func (t *memTransport) disconnect(other *memTransport) {
	for _, pair := range [][2]*memTransport{{t, other}, {other, t}} {
		a, b := pair[0], pair[1]
		a.events.Lock()
		a.mu.Lock()
		known, h := a.peers[b], a.h
		delete(a.peers, b)
		streams := a.streams
		a.mu.Unlock()
		for _, s := range streams {
			if s.other.owner == b {
				s.Reset(0)
			}
		}
		if known && h != nil {
			h.PeerDown(b.id)
		}
		a.events.Unlock()
	}
}

func (t *memTransport) Close() error {
	t.mu.Lock()
	t.h = nil
	var peers []*memTransport
	for p := range t.peers {
		peers = append(peers, p)
	}
	t.mu.Unlock()
	for _, p := range peers {
		t.disconnect(p)
	}
	return nil
}

// open lists the streams of t that are not over.
func (t *memTransport) open() []*memStream {
	t.mu.Lock()
	defer t.mu.Unlock()
	var open []*memStream
	for _, s := range t.streams {
		if !s.in.over() || !s.out.over() {
			open = append(open, s)
		}
	}
	return open
}

// vanish leaves nobody who could be called, nor calls, without a word to those who
// are connected; back undoes the second.
func (t *memTransport) vanish() (back func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.h, t.hang = nil, make(chan struct{})
	return func() { close(t.hang) }
}

// memStream is one end of a stream.
type memStream struct {
	owner    *memTransport
	other    *memStream
	in, out  *pipe
	outbound bool
}

func memPair(from, to *memTransport) (*memStream, *memStream) {
	there, back := newPipe(from.net.draw()), newPipe(from.net.draw())
	a := &memStream{owner: from, in: back, out: there, outbound: true}
	b := &memStream{owner: to, in: there, out: back}
	a.other, b.other = b, a
	for _, s := range []*memStream{a, b} {
		s.owner.mu.Lock()
		s.owner.streams = append(s.owner.streams, s)
		s.owner.mu.Unlock()
	}
	return a, b
}

func (s *memStream) Read(p []byte) (int, error)  { return s.in.read(p) }
func (s *memStream) Write(p []byte) (int, error) { return s.out.write(p) }
func (s *memStream) CloseWrite() error           { return s.out.end(io.EOF) }
func (s *memStream) Close() error                { return nil }
func (s *memStream) Remote() peer.ID             { return s.other.owner.id }
func (s *memStream) RemoteAddr() string          { return s.other.owner.addr }
func (s *memStream) Outbound() bool              { return s.outbound }
func (s *memStream) Certified() bool             { return !s.other.owner.uncertified }

// Hangup resets what is not newer; the peer stays connected.
func (s *memStream) Hangup() {
	s.owner.mu.Lock()
	streams := s.owner.streams[:slices.Index(s.owner.streams, s)+1]
	s.owner.mu.Unlock()
	for _, each := range streams {
		if each.other.owner == s.other.owner {
			each.Reset(0)
		}
	}
}

func (s *memStream) Reset(code uint32) error {
	s.in.abort(fmt.Errorf("%w locally", errReset))
	s.out.abort(fmt.Errorf("%w by peer, code %d", errReset, code))
	return nil
}

func (s *memStream) SetReadDeadline(t time.Time) error {
	if t.IsZero() && !s.outbound {
		time.Sleep(s.owner.lift)
	}
	return s.in.deadline(&s.in.readEnd, t)
}

func (s *memStream) SetWriteDeadline(t time.Time) error { return s.out.deadline(&s.out.writeEnd, t) }

// pipe is one direction of a stream.
type pipe struct {
	delay time.Duration

	mu       sync.Mutex
	cond     *sync.Cond
	buf      []byte   // arrived
	off      int      // read of it
	pending  int      // written, not read
	flying   []func() // deliveries under way
	frozen   bool     // nothing arrives, until thaw
	held     []func()
	closed   bool  // by the writer
	err      error // what the reader sees after buf
	aborted  error // what both see at once
	readEnd  time.Time
	writeEnd time.Time
}

func newPipe(delay time.Duration) *pipe {
	p := &pipe{delay: delay}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.pending > 0 && p.aborted == nil && !p.closed && !past(p.writeEnd) {
		p.cond.Wait()
	}
	switch {
	case p.aborted != nil:
		return 0, p.aborted
	case p.closed:
		return 0, errors.New("memory: write after CloseWrite")
	case past(p.writeEnd):
		return 0, os.ErrDeadlineExceeded
	}
	p.pending += len(b)
	if p.delay == 0 && !p.frozen {
		p.buf = append(p.buf, b...)
		p.cond.Broadcast()
		return len(b), nil
	}
	c := append([]byte(nil), b...)
	p.arrive(func() { p.buf = append(p.buf, c...) })
	return len(b), nil
}

// arrive has f called, with mu held, when what is sent now arrives. Timers of
// the same instant fire in any order; arrivals keep theirs.
func (p *pipe) arrive(f func()) {
	if p.delay == 0 {
		p.land(f)
		return
	}
	p.flying = append(p.flying, f)
	time.AfterFunc(p.delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		first := p.flying[0]
		p.flying = p.flying[1:]
		p.land(first)
	})
}

func (p *pipe) land(f func()) {
	if p.frozen {
		p.held = append(p.held, f)
		return
	}
	f()
	p.cond.Broadcast()
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off == len(p.buf) && p.err == nil && p.aborted == nil && !past(p.readEnd) {
		p.cond.Wait()
	}
	switch {
	case p.aborted != nil:
		return 0, p.aborted
	case p.off < len(p.buf):
		n := copy(b, p.buf[p.off:])
		p.pending -= n
		if p.off += n; p.off == len(p.buf) {
			p.buf, p.off = p.buf[:0], 0
		}
		p.cond.Broadcast()
		return n, nil
	case p.err != nil:
		return 0, p.err
	}
	return 0, os.ErrDeadlineExceeded
}

func (p *pipe) end(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted != nil {
		return p.aborted
	}
	p.closed = true
	p.arrive(func() { p.err = err })
	return nil
}

func (p *pipe) abort(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted == nil && !(p.closed && p.err != nil && p.off == len(p.buf)) {
		p.aborted = err
		p.cond.Broadcast()
	}
}

func (p *pipe) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.aborted != nil || p.err != nil
}

// freeze lets nothing arrive any more; thaw lets all that arrive at once.
func (p *pipe) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

func (p *pipe) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
	for _, f := range p.held {
		f()
	}
	p.held = nil
	p.cond.Broadcast()
}

func (p *pipe) deadline(field *time.Time, t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	*field = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.cond.Broadcast()
		})
	}
	p.cond.Broadcast()
	return nil
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

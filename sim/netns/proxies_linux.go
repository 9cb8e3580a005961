// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// proxies is the fabric in which every relay listens on loopback behind a
// proxy of its own, the gate.
type proxies struct {
	// Immutable.
	wires  *wires
	now    func() time.Duration
	log    *zap.Logger
	pieces atomic.Uint64 // of streams that were passed on

	// Guarded by mu.
	mu       sync.Mutex
	gates    map[int]*gate // by the node's number
	passages map[*passage]struct{}
	closed   bool

	wg sync.WaitGroup // the gates
}

var _ fabric = (*proxies)(nil)

func newProxies(w *wires, now func() time.Duration, log *zap.Logger) (fabric, error) {
	return &proxies{wires: w, now: now, log: log, gates: make(map[int]*gate), passages: make(map[*passage]struct{})}, nil
}

// probeProxies says why proxies can't be had here; nil if they can.
func probeProxies() error {
	l, err := net.Listen("tcp4", hiddenHost+":0")
	if err != nil {
		return fmt.Errorf("netns: listening on loopback: %w", err)
	}
	_ = l.Close()
	if _, err := os.Stat(socketTable); err != nil {
		return fmt.Errorf("netns: proxies must know who dials: %w", err)
	}
	return nil
}

func (p *proxies) seed(number int) (string, error) {
	g, err := p.gate(number)
	if err != nil {
		return "", err
	}
	return g.listener.Addr().String(), nil
}

func (p *proxies) open(name string, number int) (site, error) {
	g, err := p.gate(number)
	if err != nil {
		return nil, err
	}
	p.forget(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	g.name = name
	return g, nil
}

// gate returns the gate of the node with that number, which listens from then
// on: others may be told of a node that was not started yet.
func (p *proxies) gate(number int) (*gate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if g := p.gates[number]; g != nil {
		return g, nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netns: a proxy: %w", err)
	}
	g := &gate{proxies: p, listener: l.(*net.TCPListener)}
	p.gates[number] = g
	p.wg.Go(g.accept)
	return g, nil
}

// forget resets the connections that a node had when it lost its power: its
// new kernel knows nothing of them.
func (p *proxies) forget(name string) {
	for _, x := range p.list() {
		if x.from == name || x.to == name {
			x.finish(true)
		}
	}
}

func (p *proxies) list() []*passage {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*passage, 0, len(p.passages))
	for x := range p.passages {
		all = append(all, x)
	}
	return all
}

// add counts a passage in, unless everything ends.
func (p *proxies) add(x *passage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.passages[x] = struct{}{}
	}
	return !p.closed
}

func (p *proxies) remove(x *passage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.passages, x)
}

// owner returns the name of the node that has the socket; "" if none has.
func (p *proxies) owner(socket string) string {
	p.mu.Lock()
	pids := make(map[int]string, len(p.gates))
	for _, g := range p.gates {
		if g.pid != 0 {
			pids[g.pid] = g.name
		}
	}
	p.mu.Unlock()
	for pid, name := range pids {
		if holds(pid, socket) {
			return name
		}
	}
	return ""
}

// resume does nothing: what is held waits in the passages.
func (p *proxies) resume([]parcel) {}

func (p *proxies) stats(s *Stats) { s.Packets[passed.String()] = p.pieces.Load() }

func (p *proxies) close() {
	p.mu.Lock()
	p.closed = true
	for _, g := range p.gates {
		_ = g.listener.Close()
	}
	p.mu.Unlock()
	for _, x := range p.list() {
		x.finish(true)
	}
	p.wg.Wait()
}

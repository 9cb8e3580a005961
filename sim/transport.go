// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// transport implements overlay.Transport for one process.
type transport struct{ p *process }

var _ overlay.Transport = (*transport)(nil)

// Self implements overlay.Transport.
func (t *transport) Self() peer.ID { return t.p.host.id }

// Addrs implements overlay.Transport.
func (t *transport) Addrs() []string { return []string{t.p.host.addr} }

// Start implements overlay.Transport.
func (t *transport) Start(h overlay.TransportHandler) error {
	t.p.n.mu.Lock()
	defer t.p.n.mu.Unlock()
	if t.p.state != stateUp || t.p.n.stopped {
		return ErrDown
	}
	t.p.handler = h
	return nil
}

// Connect implements overlay.Transport.
func (t *transport) Connect(ctx context.Context, c overlay.Candidate) (peer.ID, error) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	h, err := p.connect(ctx, c.Peer, c.Addrs)
	if err != nil {
		return "", err
	}
	return h.id, nil
}

// connect makes sure that a connection stands. The lock is held, and released
// while waiting.
func (p *process) connect(ctx context.Context, id peer.ID, addrs []string) (*host, error) {
	if p.state != stateUp || p.n.stopped {
		return nil, ErrDown
	}
	if h := p.n.byPeer[id]; h != nil && len(p.conns[h.index]) > 0 {
		return h, nil
	}
	h, err := p.target(id, addrs)
	if err != nil {
		return nil, err
	}
	if h == p.host {
		return nil, ErrWrongPeer
	}
	if len(p.conns[h.index]) > 0 {
		return h, nil
	}
	return h, p.dialTo(ctx, h)
}

// Open implements overlay.Transport. On a connection that stands it takes no
// round trip: the peer's HandleStream is called one latency later.
func (t *transport) Open(ctx context.Context, id peer.ID, addrs []string) (overlay.Stream, error) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	h, err := p.connect(ctx, id, addrs)
	if err != nil {
		return nil, err
	}
	conns := p.conns[h.index]
	if len(conns) == 0 {
		return nil, ErrConnLost
	}
	return conns[0].openStream(p), nil
}

// Disconnect implements overlay.Transport.
func (t *transport) Disconnect(id peer.ID) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	h := p.n.byPeer[id]
	if h == nil {
		return
	}
	for _, c := range slices.Clone(p.conns[h.index]) {
		c.breakEnd(c.endOf(p), ErrConnLost, true)
	}
}

// Close implements overlay.Transport.
func (t *transport) Close() error {
	p := t.p
	p.n.mu.Lock()
	if p.state == stateUp {
		p.shut(stateClosed)
	}
	p.n.mu.Unlock()
	p.calls.Wait()
	return nil
}

// shut ends the process's part in the network. Its goroutines find errors
// everywhere; its clock and its Exec keep working so that it can be closed.
func (p *process) shut(s state) {
	p.state = s
	p.socket.close()
	standing := p.all()
	if s == stateSilent {
		p.lost = standing
	}
	for _, c := range standing {
		end := c.endOf(p)
		c.breakEnd(end, ErrConnLost, s != stateSilent)
		if s == stateSilent {
			c.expire(1 - end)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(p.dials)) {
		p.dials[index].finish(ErrDown)
	}
	p.router.gone(s)
}

// tellRestart resets the connections that others still have to a process that
// was lost without a word.
func (p *process) tellRestart() {
	for _, c := range p.lost {
		if end := c.endOf(p); c.open[1-end] && c.ends[1-end].state == stateUp {
			c.end(end)
		}
	}
	p.lost = nil
}

// release lets everything return that still blocks when the network closes.
func (p *process) release() {
	for _, d := range p.dials {
		d.done, d.err = true, ErrDown
		for _, over := range d.waiters {
			close(over)
		}
	}
	p.router.release()
}

// endOf says which end of c is p's.
func (c *conn) endOf(p *process) int {
	if c.ends[0] == p {
		return 0
	}
	return 1
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// transport implements overlay.Transport for one process.
type transport struct{ p *process }

var _ overlay.Transport = (*transport)(nil)

// Self implements overlay.Transport.
func (t *transport) Self() peer.ID { return t.p.host.id }

// Addrs implements overlay.Transport.
func (t *transport) Addrs() []string {
	t.p.n.mu.Lock()
	defer t.p.n.mu.Unlock()
	return []string{t.p.host.addr}
}

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
	if err != nil && (h != p.host || c.Peer != "") {
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
	if h := p.n.byPeer[id]; h != nil && usable(p, h) != nil {
		return h, nil
	}
	h, err := p.target(id, addrs)
	if err != nil {
		return nil, err
	}
	if h == p.host {
		return h, ErrWrongPeer
	}
	if usable(p, h) != nil {
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
	c := usable(p, h)
	if c == nil {
		return nil, ErrConnLost
	}
	return c.openStream(p), nil
}

// Disconnect implements overlay.Transport.
func (t *transport) Disconnect(id peer.ID) {
	p := t.p
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if h := p.n.byPeer[id]; h != nil {
		p.breakAll(h)
	}
}

// breakAll ends every connection with a host.
func (p *process) breakAll(h *host) {
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

// dial is an attempt of one process to connect to one host. Callers who want
// the same share it. Guarded by Network.mu.
type dial struct {
	p       *process
	to      *host
	number  uint64 // of the connection, once it has begun
	done    bool
	err     error
	giveUp  *event
	waiters []chan struct{} // of every Connect and Open that has waited; closed when it is over
	waiting int             // of them
}

// synRetry is how long a dialer waits before it sends a lost SYN again.
const synRetry = time.Second

// dialTo connects to h and waits for the result. The lock is held, and
// released while waiting.
func (p *process) dialTo(ctx context.Context, h *host) error {
	if p.state != stateUp || p.n.stopped {
		return ErrDown
	}
	d := p.dials[h.index]
	if d == nil {
		d = &dial{p: p, to: h}
		p.dials[h.index] = d
		p.n.after(0, p.key(kindDial, h.index, 0), d.begin)
	}
	over := make(chan struct{})
	d.waiters = append(d.waiters, over)
	d.waiting++
	err := p.n.await(ctx, over)
	if d.waiting--; d.waiting == 0 {
		d.finish(context.Canceled) // if it is not over
	}
	if err != nil {
		return err
	}
	return d.err
}

// begin sends the SYN. The TCP and TLS handshakes take two round trips; the
// acceptor has the connection after one and a half.
func (d *dial) begin() {
	if d.done {
		return
	}
	n := d.p.n
	there, back := n.path(d.p.host, d.to), n.path(d.to, d.p.host)
	there.conns++
	d.number = there.conns
	d.giveUp = n.after(n.cfg.DialTimeout, d.p.key(kindGiveUp, d.to.index, d.number), func() { d.finish(ErrTimeout) })
	var takes time.Duration
	for _, p := range []*path{there, back, there} {
		one, ok := p.flight()
		if !ok {
			return // it never arrives
		}
		takes += one
	}
	d.arriveIn(takes)
}

func (d *dial) arriveIn(wait time.Duration) {
	k := key{kind: kindSyn, node: d.to.index, peer: d.p.host.index, n: d.number}
	d.p.n.after(wait, k, d.arrive)
}

// arrive is the end of the handshake at the accepting host.
func (d *dial) arrive() {
	if d.done || d.p.state != stateUp {
		return
	}
	n, q := d.p.n, d.to.proc
	if n.severed(d.p.host, d.to) || q != nil && q.state == stateSilent {
		d.arriveIn(synRetry)
		return
	}
	if !q.accepts(d.p) {
		if back, ok := n.path(d.to, d.p.host).flight(); ok {
			n.after(back, d.p.key(kindRefused, d.to.index, d.number), func() { d.finish(ErrRefused) })
		}
		return
	}
	c := newConn(d.p, q, d.number)
	if !c.local() {
		c.keys = [2]uint32{n.admits(d.p.host, q.host).version, n.admits(q.host, d.p.host).version}
	}
	q.attach(c, 1)
	c.flows[1].send(c.key(kindAnswer, 0, 0), 0, 0, func() { d.answered(c) })
}

// answered is the end of the handshake at the dialing process.
func (d *dial) answered(c *conn) {
	if d.done || d.p.state != stateUp {
		c.end(0)
		return
	}
	d.p.attach(c, 0)
	d.finish(nil)
}

// finish ends the dial and lets its waiters return, one an event. Those that
// gave up have theirs, too: a node that closes cancels its dials and closes
// its Transport in the same step, and which comes first must not matter.
func (d *dial) finish(err error) {
	if d.done {
		return
	}
	d.done, d.err = true, err
	delete(d.p.dials, d.to.index)
	d.p.n.cancel(d.giveUp)
	for i, over := range d.waiters {
		d.p.n.soon(d.p.key(kindDialed, d.to.index, d.number<<16|uint64(i)), func() { close(over) })
	}
}

// target finds the host that a peer id or addresses lead to.
func (p *process) target(id peer.ID, addrs []string) (*host, error) {
	err := ErrNoAddress
	for _, a := range addrs {
		h, want := p.n.resolve(a)
		switch {
		case h == nil:
		case id != "" && h.id != id || want != "" && h.id != want:
			err = ErrWrongPeer
		default:
			return h, nil
		}
	}
	if h := p.n.byPeer[id]; h != nil && p.book.has(h) {
		return h, nil
	}
	return nil, err
}

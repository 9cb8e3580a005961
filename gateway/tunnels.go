// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

// tunnels are those of one crossing. Each is two that are joined: one that came in the
// network of its opener, and one that is opened in the other one. Both nodes take this
// for a client's session, so that credit is granted from end to end and the slower
// reader sets the pace.
type tunnels struct {
	near     *tunnel.Hop      // on the node in the network of the openers
	far      *tunnel.Hop      // on the other one
	passages *tunnel.Passages // those that are passed on unopened
	toNear   belt
	toFar    belt
	carrying atomic.Uint64 // bytes of frames that have crossed
}

// tunnelBytes is how much may be under way through all tunnels of a crossing.
const tunnelBytes = 64 << 20

func newTunnels(l *lend) *tunnels {
	t := &tunnels{}
	t.toNear.bytes, t.toFar.bytes = &t.carrying, &t.carrying
	t.near = l.to.Hop(tunnel.HopConfig{Conduit: &t.toFar, MaxTunnels: 1 << 30, BufferBytes: tunnelBytes})
	t.far = l.from.Hop(tunnel.HopConfig{Conduit: &t.toNear, MaxTunnels: 1 << 30, BufferBytes: tunnelBytes})
	t.toNear.to, t.toFar.to = t.near, t.far
	t.passages = l.to.Passages(l.from, tunnelBytes)
	return t
}

// open counts them.
func (t *tunnels) open() int { return t.near.Status() + t.passages.Open() }

// carried are the bytes of their frames that have crossed.
func (t *tunnels) carried() uint64 { return t.carrying.Load() + t.passages.Carried() }

// close ends all of them at once.
func (t *tunnels) close() {
	t.near.Close()
	t.far.Close()
	t.passages.Close()
}

// passage is a tunnel whose opener has no answer yet.
type passage struct {
	*cargo
	id   uint64         // that its frames towards the opener have
	near *tunnel.Splice // where it came
	far  *tunnel.Splice // where it is opened
}

// tunnel opens the other half of a tunnel that came.
func (c *cargo) tunnel() {
	t, d := c.l.tunnels, c.d
	near, tail, err := t.near.Deliver(tunnel.Arrival{
		Server: d.Server, Link: d.Link, Session: d.Session, From: d.From(),
		SenderIncarnation: d.SenderIncarnation, Sealed: d.Sealed, Tail: d.Tail,
	})
	c.l.border.opened()
	if err != nil {
		c.refuse(err)
		return
	}
	p := &passage{cargo: c, near: near}
	if _, body, err := wire.SplitTail(tail); err == nil {
		if m, err := wire.DecodeTunnelOpen(body); err == nil {
			p.id = m.ID
		}
	}
	far, tail, err := t.far.Open(c.l.address, tail)
	if err != nil {
		near.Abandon()
		c.refuse(err)
		return
	}
	p.far = far
	t.toNear.hold(p.id)
	c.cancelWith(c.l.from.Begin(request.Ask{
		Cluster: c.l.address, Pattern: d.Pattern, Tail: tail, Deadline: d.Deadline,
		Options: c.options(), Transit: c.passed, Tunnel: far.ID(),
	}, p.opened))
}

// opened takes in what became of the other half.
func (p *passage) opened(a request.Answer, err error) {
	c := p.cargo
	defer c.l.tunnels.toNear.release(p.id)
	tail := a.Tail
	if err != nil {
		p.far.Abandon()
	} else {
		tail, err = p.far.Opened(a, tail)
	}
	if err == nil {
		tail, err = p.near.Served(tail)
	}
	if err != nil {
		p.near.Abandon()
		c.refuse(err)
		return
	}
	c.l.border.leave(c.l.of.clock.Now(), 0)
	c.d.Answer(wire.Reply{Outcome: wire.OutcomeReply, Tail: tail})
}

// refuse answers an opening that was not accepted.
func (c *cargo) refuse(err error) {
	c.l.border.leave(c.l.of.clock.Now(), 0)
	var refusal *patterns.Refusal
	if errors.As(err, &refusal) {
		err = refusal.Cause
	}
	c.d.Answer(replyOf(request.Answer{}, err))
}

// belt takes the frames of tunnels from one node to the other. It is a queue without a
// goroutine: whoever puts a frame on it hands over all there are, one at a time and in
// order, unless somebody does already. The windows of the tunnels bound it.
type belt struct {
	to    *tunnel.Hop
	bytes *atomic.Uint64

	mu    sync.Mutex
	queue after.InOrder[load] // guarded by mu
	held  map[uint64][]load   // guarded by mu: what is for tunnels that are not open yet
}

// load is one frame.
type load struct {
	kind wire.Kind
	body []byte
}

var _ tunnel.Conduit = (*belt)(nil)

// Send implements tunnel.Conduit.
func (b *belt) Send(_ overlay.Lane, k wire.Kind, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	body := make([]byte, 0, size)
	for _, p := range parts {
		body = append(body, p...)
	}
	b.bytes.Add(uint64(size))
	id, _, err := wire.TunnelOf(body)
	b.mu.Lock()
	if waiting, held := b.held[id]; held && err == nil {
		b.held[id] = append(waiting, load{k, body})
		b.mu.Unlock()
		return nil
	}
	b.queue.Add(load{k, body})
	b.queue.Run(&b.mu, b.handOver)
	return nil
}

// SendLater implements tunnel.Conduit. There is always room.
func (b *belt) SendLater(lane overlay.Lane, k wire.Kind, sent func(err error), parts ...[]byte) error {
	sent(b.Send(lane, k, parts...))
	return nil
}

// handOver gives a frame to the other node. Its memory is nobody else's, kept or not.
func (b *belt) handOver(l load) { b.to.Handle(l.kind, l.body) }

// hold keeps frames of a tunnel back until release.
func (b *belt) hold(id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held = make(map[uint64][]load)
	}
	b.held[id] = nil
}

func (b *belt) release(id uint64) {
	b.mu.Lock()
	for _, l := range b.held[id] {
		b.queue.Add(l)
	}
	delete(b.held, id)
	b.queue.Run(&b.mu, b.handOver)
}

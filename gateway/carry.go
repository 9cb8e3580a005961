// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// cargo is one message on its way through the far network.
type cargo struct {
	l      *loan
	d      *request.Delivery
	passed *cluster.Transit // whom it may go to
	began  time.Time

	mu     sync.Mutex
	cancel func() // guarded by mu; nil while it is being started
	gaveUp bool   // guarded by mu
}

// Deliver implements request.Forwarder.
func (l *loan) Deliver(d *request.Delivery) {
	l.touch(l.of.clock.Now())
	t := l.way().carries(d.Origin.Networks)
	if t == nil {
		l.border.refused.Inc(refusedRound)
		d.Answer(wire.Reply{Outcome: wire.OutcomeNoSuchMember, Tail: noHeaders})
		return
	}
	if l.cut() {
		l.border.refused.Inc(refusedCut)
		d.Answer(wire.Reply{Outcome: wire.OutcomeUnreachable, Tail: noHeaders})
		return
	}
	c := l.letIn(d)
	if c == nil {
		return
	}
	c.passed = t
	switch d.Pattern {
	case patterns.PatternSurvey, patterns.PatternBroadcast:
		c.everybody()
	case patterns.PatternTunnel:
		c.tunnel()
	default:
		c.start()
	}
}

// letIn lets a message in across the border. It returns nil if there is no room, which it
// answers.
func (l *loan) letIn(d *request.Delivery) *cargo {
	var open func() int
	if d.Pattern == patterns.PatternTunnel {
		open = l.tunnels.open
	}
	if why := l.border.enter(l.of.clock.Now(), d.Size, open); why != passed {
		d.Answer(wire.Reply{Outcome: wire.OutcomeOverloaded, Tail: noHeaders, Queue: overfull})
		return nil
	}
	c := &cargo{l: l, d: d, began: l.of.clock.Now()}
	d.Value = c
	return c
}

// cut says that none of the members can be reached: what is sent would wait for the
// network to come back, and its caller not hear why.
func (l *loan) cut() bool {
	if !l.reach.cut.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.native() || l.shown.usable == 0
}

// overfull is the queue that a refused caller is told of, so that it asks elsewhere for
// a while.
const overfull = 64

// Cancel implements request.Forwarder.
func (l *loan) Cancel(d *request.Delivery) {
	if c, ok := d.Value.(*cargo); ok {
		c.giveUp()
	}
}

// start asks one member.
func (c *cargo) start() {
	c.cancelWith(c.l.from.Begin(request.Ask{
		Cluster: c.l.address, Pattern: c.d.Pattern, Tail: c.tail(), Deadline: c.d.Deadline,
		Options: c.options(), Transit: c.passed,
	}, c.answered))
}

// options are those of a request in the far network. What another gateway there carries
// on is repeated where it began, or where it ends, and not at each border.
func (c *cargo) options() patterns.RequestOptions {
	return patterns.RequestOptions{Idempotent: c.d.Idempotent && c.l.native()}
}

// tail is what crosses; never nil.
func (c *cargo) tail() []byte {
	if c.d.Tail == nil {
		return noHeaders
	}
	return c.d.Tail
}

func (c *cargo) answered(a request.Answer, err error) {
	r := replyOf(a, err)
	c.l.border.leave(c.l.of.clock.Now(), len(a.Tail))
	if err == nil {
		c.l.measure(c.l.of.clock.Now().Sub(c.began) - a.Service)
	}
	c.d.Answer(r)
}

// cancelWith says how it is given up.
func (c *cargo) cancelWith(cancel func()) {
	c.mu.Lock()
	c.cancel = cancel
	over := c.gaveUp
	c.mu.Unlock()
	if over {
		cancel()
	}
}

// giveUp has nobody work for it any more.
func (c *cargo) giveUp() {
	c.mu.Lock()
	c.gaveUp = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// measure smooths the time that a message takes there and back, as TCP does (RFC 6298).
func (l *lend) measure(trip time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trip == 0 {
		l.trip = trip
	}
	l.trip += (trip - l.trip) / 8
}

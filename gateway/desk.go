// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// desk is where callers of one network ask for clusters that a pattern stands for.
type desk struct {
	// Immutable.
	of      *Gateway
	network string
	node    *node.Node
	changed chan struct{} // has room for one

	wanted []string // guarded by of.mu: the patterns, as that network knows them
}

var _ request.Forwarder = (*desk)(nil)

// Limits and times of a desk.
const (
	deskAtOnce  = 256                    // questions
	deskBytes   = 1 << 20                // of those that wait
	deskLook    = 10 * time.Millisecond  // between looks whether it is lent by now
	deskMargin  = 100 * time.Millisecond // before a question's deadline
	expireEvery = 30 * time.Second
)

// run has the network know of the patterns, until the gateway closes.
func (d *desk) run() {
	var have []string
	var reg *node.Forwarded
	for d.of.ctx.Err() == nil {
		d.of.mu.Lock()
		want := d.wanted
		d.of.mu.Unlock()
		if !slices.Equal(want, have) {
			d.of.drain(reg)
			var err error
			if reg, err = d.register(want); err != nil {
				d.of.log.Warn("patterns could not be offered, tries again", zap.String("to", d.network), zap.Error(err))
				have = nil
				overlay.Sleep(d.of.ctx, d.of.clock, "gateway.retry", retryTime)
				continue
			}
			have = want
		}
		select {
		case <-d.changed:
		case <-d.of.ctx.Done():
		}
	}
}

// register offers the patterns; nil where there is none.
func (d *desk) register(want []string) (*node.Forwarded, error) {
	if len(want) == 0 {
		return nil, nil
	}
	ctx, cancel := overlay.WithTimeout(d.of.ctx, d.of.clock, "gateway.lend", lendTime)
	defer cancel()
	limits := patterns.Limits{Concurrency: deskAtOnce, QueueBytes: deskBytes, MessageBytes: 1 << 10}
	return d.node.OfferPatterns(ctx, want, limits, d)
}

// Deliver implements request.Forwarder.
func (d *desk) Deliver(q *request.Delivery) {
	_, body, err := wire.SplitTail(q.Tail)
	if err != nil {
		q.Answer(wire.Reply{Outcome: wire.OutcomeCancelled})
		return
	}
	d.of.spawn(overlay.ExecKey{Name: "gateway.asked", N: q.Number}, func() { d.answer(q, string(body)) })
}

// Cancel implements request.Forwarder: a question is over soon.
func (d *desk) Cancel(*request.Delivery) {}

// answer says whether the cluster is lent, as soon as that is known.
func (d *desk) answer(q *request.Delivery, cluster string) {
	lends, full := d.of.demand(d.network, cluster, q.Origin.Peer)
	ctx, cancel := overlay.WithTimeout(d.of.ctx, d.of.clock, "gateway.ask", q.Deadline.Sub(d.of.clock.Now())-deskMargin)
	defer cancel()
	for {
		lent, known := outlook(lends)
		switch {
		case lent || known && !full:
			q.Answer(wire.Reply{Outcome: wire.OutcomeReply, Tail: wire.AppendTail(nil, nil, node.LentAnswer(lent))})
			return
		case full || !overlay.Sleep(ctx, d.of.clock, "gateway.asked", deskLook):
			q.Answer(wire.Reply{Outcome: wire.OutcomeOverloaded, Tail: noHeaders})
			return
		}
	}
}

// outlook says whether one of these is lent, or it is known that nobody serves any.
func outlook(lends []*lend) (lent, known bool) {
	known = true
	for _, l := range lends {
		if l.sealed != nil { // who holds the key sees who is passed on, and others see nobody
			known = known && l.sealed.looked()
			continue
		}
		loans := l.sorted()
		known = known && len(loans) > 0 && (!l.what.Transit || l.followed.Load())
		for _, x := range loans {
			now, shown, _ := x.state()
			if now {
				return true, true
			}
			known = known && shown.known && shown.members == 0
		}
	}
	return false, known
}

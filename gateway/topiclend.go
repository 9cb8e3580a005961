// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
)

// topicLend is one TopicCrossing in force: it listens in one network, and publishes what
// it hears in the other one.
type topicLend struct {
	// Immutable after newTopicLend.
	of       *Gateway
	what     TopicCrossing // without its limits
	from, to *node.Node
	border   *border
	log      *zap.Logger
	ctx      context.Context // ends when it is no longer in force
	cancel   context.CancelFunc
	over     chan struct{} // closed when run has returned
	proxy    *pubsub.Proxy
	queue    string // of the gateways

	carrier *pubsub.Carrier // set by run before anything is heard
	missed  atomic.Uint64   // messages that have not come as far as here

	mu       sync.Mutex
	listened bool  // guarded by mu; somebody in To listens
	lent     bool  // guarded by mu; the gateway does
	fault    error // guarded by mu; why it could not, if so
}

var _ pubsub.Sink = (*topicLend)(nil)

func newTopicLend(g *Gateway, c TopicCrossing) *topicLend {
	l := &topicLend{
		of: g, what: c, from: g.networks[c.From], to: g.networks[c.To], border: newBorder(),
		log: g.log.With(zap.Stringer("crossing", c)), over: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(g.ctx)
	for _, n := range g.cfg.Networks {
		if n.Name == c.To {
			l.proxy, l.queue = l.from.Lender(l, n.Node.Network.ID)
		}
	}
	return l
}

// stop ends it; what publishers have given to the gateway still crosses.
func (l *topicLend) stop() {
	l.of.stepwise(overlay.ExecKey{Name: "gateway.stop", N: numberOf(l.what.String())}, l.cancel)()
}

// limit replaces the limits.
func (l *topicLend) limit(t TopicLimits) {
	l.border.limit(Limits{Messages: t.Messages, Bytes: t.Bytes}.withDefaults())
}

// run listens while somebody in the other network does.
func (l *topicLend) run() {
	defer close(l.over)
	if l.carry() == nil {
		return
	}
	defer l.carrier.Close()
	w := l.to.Watch(pubsub.Cluster(l.what.As))
	defer w.Release()
	var core listening
	for {
		v := w.View()
		if !l.do(core.step(l.of.clock.Now(), l.listens())) {
			core.failed()
			if !overlay.Sleep(l.ctx, l.of.clock, "gateway.retry", retryTime) {
				break
			}
			continue
		}
		ctx, cancel := overlay.WithTimeout(l.ctx, l.of.clock, "gateway.look", lookTime)
		_, err := w.Next(ctx, v)
		cancel()
		if l.ctx.Err() != nil || err != nil && ctx.Err() == nil {
			break
		}
	}
	l.leave()
}

// carry makes the carrier, and tries again until it can be made; nil if that is not needed
// any more.
func (l *topicLend) carry() *pubsub.Carrier {
	for n := 0; l.carrier == nil; n++ {
		var err error
		if l.carrier, err = l.to.Carrier(l.what.From, l.what.As); err == nil {
			l.note(false, nil)
			break
		}
		l.carrier = nil
		l.note(false, err)
		if !overlay.Sleep(l.ctx, l.of.clock, "gateway.retry", retryAfter(n)) {
			break
		}
	}
	return l.carrier
}

// listens says whether anybody in the other network listens.
func (l *topicLend) listens() bool {
	on := l.carrier.Listened(l.what.there(l.what.Topic))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listened = on
	return on
}

// do carries an order out, and says whether it could.
func (l *topicLend) do(o order) bool {
	switch o {
	case orderLend:
		// Not l.ctx: publishers may know the subscription before it is acknowledged.
		ctx, cancel := overlay.WithTimeout(l.of.ctx, l.of.clock, "gateway.lend", lendTime)
		defer cancel()
		err := l.proxy.Subscribe(ctx, subscriptionID, l.what.Topic, patterns.SubscribeOptions{Queue: l.queue})
		l.note(err == nil, err)
		return err == nil
	case orderReturn:
		l.leave()
	}
	return true
}

// subscriptionID is the one subscription of the proxy.
const subscriptionID = 1

// note takes in whether the gateway listens now.
func (l *topicLend) note(lent bool, err error) {
	l.mu.Lock()
	l.lent, l.fault = lent, err
	l.mu.Unlock()
	switch {
	case err != nil && l.ctx.Err() == nil:
		l.log.Warn("could not be lent, tries again", zap.Error(err))
	case lent:
		l.log.Info("lent: somebody listens")
	}
}

// leave has publishers go elsewhere, and takes what they have sent until they know.
func (l *topicLend) leave() {
	ctx, cancel := overlay.WithTimeout(l.of.ctx, l.of.clock, "gateway.drain", drainTime)
	defer cancel()
	l.proxy.Unsubscribe(ctx, subscriptionID)
	l.note(false, nil)
}

// Deliver implements pubsub.Sink: one message crosses, or does not and is counted.
func (l *topicLend) Deliver(d *pubsub.Delivery, _ []uint64) {
	now := l.of.clock.Now()
	if l.border.enter(now, len(d.Tails[0]), nil) != passed {
		l.carrier.Leave(d)
		return
	}
	l.carrier.Put(l.what.there(d.Topic), d)
	l.border.leave(now, 0)
}

// Gap implements pubsub.Sink.
func (l *topicLend) Gap(g patterns.Gap, _ []uint64) {
	l.missed.Add(g.Missed)
	l.carrier.Gap(g)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
)

// topicLend is one TopicCrossing in force: it listens in one network, and publishes what
// it hears in the other one.
type topicLend struct {
	// Immutable after newTopicLend.
	inForce
	what  TopicCrossing // without its limits
	proxy *pubsub.Proxy
	queue string // of the gateways

	carrier *pubsub.Carrier // set by run before anything is heard
	missed  atomic.Uint64   // messages that have not come as far as here

	mu       sync.Mutex
	listened bool  // guarded by mu; somebody in To listens
	lent     bool  // guarded by mu; the gateway does
	fault    error // guarded by mu; why it could not, if so
}

var _ pubsub.Sink = (*topicLend)(nil)

func newTopicLend(g *Gateway, c TopicCrossing) *topicLend {
	l := &topicLend{inForce: newInForce(g, c.From, c.To, c), what: c}
	for _, n := range g.cfg.Networks {
		if n.Name == c.To {
			l.proxy, l.queue = l.from.Lender(l, n.Node.Network.ID)
		}
	}
	return l
}

// limit replaces the limits.
func (l *topicLend) limit(t TopicLimits) {
	l.border.limit(Limits{Messages: t.Messages, Bytes: t.Bytes}.withDefaults())
}

// run listens while somebody in the other network does.
func (l *topicLend) run() {
	defer close(l.over)
	if l.carrier = l.carry(); l.carrier == nil {
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
		if !l.watches(w, v, "gateway.look") {
			break
		}
	}
	l.leave()
}

// carry makes the carrier, and tries again until it can be made; nil if that is not needed
// any more.
func (l *topicLend) carry() *pubsub.Carrier {
	var carrier *pubsub.Carrier
	l.tries(l.ctx, func() (err error) {
		carrier, err = l.to.Carrier(l.what.From, l.what.As)
		l.note(false, err)
		return err
	})
	return carrier
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
	l.warn(err)
	if lent {
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

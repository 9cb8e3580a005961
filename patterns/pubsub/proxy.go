// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Sink takes what comes for the subscriptions of a Proxy. Its methods are
// called inline, on the goroutine that reads a link or publishes, and must not
// block. What comes of one publisher comes one at a time and in order; of
// several publishers at the same time.
type Sink interface {
	// Deliver takes messages for the subscriptions of these ids, in no
	// order, each once. d, its Tails, and ids are valid during the call only.
	Deliver(d *Delivery, ids []uint64)
	// Gap takes that messages are missing for these subscriptions.
	Gap(g patterns.Gap, ids []uint64)
}

// Delivery is messages of one topic that follow each other, as they travel.
type Delivery struct {
	Topic string
	// Publisher is the node that published.
	Publisher peer.ID
	// From is the publisher as subscriptions see it, if its node is in another network;
	// else "".
	From string
	// Tails is headers and body of each message, as wire.Publish carries them,
	// opened if they were sealed: one at least, and one alone for a gateway. They
	// are shared and must not be changed.
	Tails [][]byte

	// What follows is for the subscriptions of gateways (NewLender).

	// Session is the publisher's, Queue that of these gateways, and Serial the number of
	// the message among those that the publisher has given to it.
	Session, Queue, Serial uint64
	// Picks are who has the message for queues.
	Picks []wire.Pick
}

// Proxy is subscriptions that live elsewhere: those of one client of a relay.
// There is no queue: its Sink is called at once, and gets each message once, however
// many of the subscriptions it is for. All methods may be called concurrently.
type Proxy struct {
	l      *local
	sink   Sink
	origin uint64
	key    uint64 // order among proxies
	lender bool   // its subscriptions are a gateway's

	delivered, missed atomic.Uint64

	mu     sync.Mutex
	subs   map[uint64]*subscription // guarded by mu; a nil one is being made
	closed bool                     // guarded by mu
}

// Subscribe adds a subscription under an id that is the caller's, and returns
// when it is acknowledged. Of the options Queue and NoEcho are used;
// OverflowBlock is refused, as there is no queue that could be full: use
// Engine.Subscribe. Errors are those of Engine.Subscribe, and
// patterns.ErrTooMany if the id is in use.
func (o *Proxy) Subscribe(ctx context.Context, id uint64, pattern string, opts patterns.SubscribeOptions) error {
	if opts.Overflow == patterns.OverflowBlock {
		return fmt.Errorf("pubsub: subscription %d: a proxy can't block publishers", id)
	}
	if err := env.CheckQueue(opts.Queue); err != nil && !o.lender {
		return err
	}
	opts.Origin = o.origin
	s, err := o.l.newSubscription(ctx, pattern, opts)
	if err != nil {
		return err
	}
	s.proxy, s.remote = o, id
	o.mu.Lock()
	_, used := o.subs[id]
	closed := o.closed
	if !used && !closed {
		o.subs[id] = nil
	}
	o.mu.Unlock()
	switch {
	case closed:
		return patterns.ErrClosed
	case used:
		return patterns.ErrTooMany
	}
	err = s.join(ctx)
	o.mu.Lock()
	if closed = o.closed; err == nil && !closed {
		o.subs[id] = s
	} else {
		delete(o.subs, id)
	}
	o.mu.Unlock()
	if err == nil && closed {
		o.leave(s)
		return patterns.ErrClosed
	}
	return err
}

// Unsubscribe ends a subscription; one that there is not, or not yet, is no
// error. The last one of a queue on this node takes what was given to it
// already, for which Unsubscribe waits about 250 ms, unless ctx has ended.
func (o *Proxy) Unsubscribe(ctx context.Context, id uint64) {
	o.mu.Lock()
	s := o.subs[id]
	if s != nil {
		delete(o.subs, id)
	}
	o.mu.Unlock()
	if s != nil {
		_ = s.Close(ctx)
	}
}

// Close ends all subscriptions of the proxy at once. It is idempotent.
func (o *Proxy) Close() {
	o.mu.Lock()
	o.closed = true
	subs := o.subs
	o.subs = nil
	o.mu.Unlock()
	for _, s := range env.Sorted(subs, (*subscription).order) {
		if s != nil {
			o.leave(s)
		}
	}
}

// leave ends a subscription without waiting for anything.
func (o *Proxy) leave(s *subscription) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Close(ended)
}

// Status sums over the proxy's subscriptions: messages handed to the Sink, and
// gaps.
func (o *Proxy) Status() patterns.SubscriptionStatus {
	return patterns.SubscriptionStatus{Delivered: o.delivered.Load(), Missed: o.missed.Load()}
}

// order is the place among a proxy's subscriptions.
func (s *subscription) order() uint64 {
	if s == nil {
		return 0
	}
	return s.id
}

// atOnce is how many messages proxies get together at most.
const atOnce = 64

// handout hands messages to proxies, several at once to each. It is scratch of who
// delivers: one at a time.
type handout struct {
	proxies                 // who gets what tails has
	all     []*subscription // who gets all that is added
	sink    Delivery
	tails   [][]byte // of sink
}

// add has a message handed to all, with others or by the next toAll.
func (h *handout) add(tail []byte) {
	if h.tails = append(h.tails, tail); len(h.tails) == atOnce {
		h.toAll()
	}
}

// toAll hands what was added to all.
func (h *handout) toAll() {
	if len(h.tails) > 0 {
		h.subs = append(h.subs, h.all...)
		h.hand()
	}
}

// hand hands on what tails has, and forgets it.
func (h *handout) hand() {
	h.sink.Tails = h.tails
	h.deliver(&h.sink)
	clear(h.tails)
	h.tails, h.sink.Tails = h.tails[:0], nil
}

// clear forgets who gets what.
func (h *handout) clear() {
	clear(h.all[:cap(h.all)]) // also whom it had before some were taken out
	h.all, h.sink = h.all[:0], Delivery{}
}

// proxies is some subscriptions of proxies.
type proxies struct {
	subs []*subscription
	ids  []uint64
}

// deliver hands the messages to the proxies, once to each, and forgets them.
func (o *proxies) deliver(d *Delivery) {
	o.each(func(to *Proxy, ids []uint64) {
		to.delivered.Add(uint64(len(ids) * len(d.Tails)))
		to.sink.Deliver(d, ids)
	})
	clear(o.subs)
	o.subs = o.subs[:0]
}

// each calls to with the proxies, in a fixed order, and the ids of their
// subscriptions.
func (o *proxies) each(to func(o *Proxy, ids []uint64)) {
	if len(o.subs) > 1 {
		slices.SortFunc(o.subs, func(a, b *subscription) int {
			return cmp.Or(cmp.Compare(a.proxy.key, b.proxy.key), cmp.Compare(a.remote, b.remote))
		})
	}
	for from := 0; from < len(o.subs); {
		at := o.subs[from].proxy
		o.ids = o.ids[:0]
		for ; from < len(o.subs) && o.subs[from].proxy == at; from++ {
			o.ids = append(o.ids, o.subs[from].remote)
		}
		to(at, o.ids)
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
)

// topics are what comes for the subscriptions of one client. They have no
// goroutine.
type topics struct {
	// Immutable after newTopics.
	c     *client
	proxy *pubsub.Proxy

	// Guarded by mu.
	mu      sync.Mutex
	packed  packed
	lost    losses
	telling bool // somebody waits for room to tell what is lost
	waiters int  // full subscriptions that have publishers wait
}

var _ pubsub.Sink = (*topics)(nil)

func newTopics(c *client, origin uint64) *topics {
	t := &topics{c: c}
	t.proxy = c.relay.cfg.Node.Proxy(t, origin)
	return t
}

func (t *topics) handleSubscribe(body []byte) error {
	f, err := wire.DecodeSubscribe(body)
	if err != nil {
		return malformed(err)
	}
	o := patterns.SubscribeOptions{
		Queue: f.Queue, NoEcho: f.Options&wire.SubscribeNoEcho != 0, Signed: f.Options&wire.SubscribeSigned != 0,
		Keys: t.c.conn.keys.topic(f.Pattern),
	}
	w := wanted{t, f.ID, f.Pattern, o, int(f.Bytes)}
	var p place = &listener{wanted: w}
	if f.Options&wire.SubscribeBlocks != 0 {
		p = newBlocking(w, &f)
	}
	return t.c.claims.begin(f.ID, subscription, f.Timeout, p)
}

// forget takes out what a subscription has missed that is over.
func (t *topics) forget(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost.forget(id)
}

// wanted is what a client subscribes to.
type wanted struct {
	t       *topics
	id      uint64
	pattern string
	options patterns.SubscribeOptions
	buffer  int // bytes that the program has for it; 0 = it did not say
}

// name implements place.
func (w *wanted) name() string { return w.pattern }

// listener is an ordinary subscription.
type listener struct {
	wanted

	// Guarded by mu.
	mu     sync.Mutex
	opened bool // it is the client's
	listen bool // it shall be the node's
	at     bool // it is
	busy   bool // somebody sees to that
}

var _ place = (*listener)(nil)

// open implements place.
func (l *listener) open(ctx context.Context) (uint64, error) {
	err := l.t.proxy.Subscribe(ctx, l.id, l.pattern, l.options)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened, l.listen, l.at = err == nil, err == nil, err == nil
	return 0, err
}

// close implements place: what has come is in the client's lane.
func (l *listener) close(ctx context.Context) error {
	l.mu.Lock()
	l.opened = false
	l.mu.Unlock()
	l.t.proxy.Unsubscribe(ctx, l.id)
	return nil
}

// pause has the node give what is for a queue to its other members, as long as
// the client can't be reached; of other subscriptions nothing is lost meanwhile.
func (l *listener) pause(on bool) {
	if l.options.Queue == "" {
		return
	}
	l.mu.Lock()
	l.listen = !on
	start := l.opened && !l.busy && l.listen != l.at
	l.busy = l.busy || start
	l.mu.Unlock()
	if start && !l.t.c.spawn("relay/pause", l.settle) {
		l.settle()
	}
}

// settle makes the subscription what it shall be.
func (l *listener) settle() {
	ended, cancel := context.WithCancel(l.t.c.ctx)
	cancel()
	for {
		l.mu.Lock()
		l.busy = l.opened && l.listen != l.at && l.t.c.ctx.Err() == nil
		busy, listen := l.busy, l.listen
		l.mu.Unlock()
		switch {
		case !busy:
			return
		case !listen:
			l.t.proxy.Unsubscribe(ended, l.id)
		case l.t.proxy.Subscribe(l.t.c.ctx, l.id, l.pattern, l.options) != nil:
			overlay.Sleep(l.t.c.ctx, l.t.c.relay.clock, "relay/pause", time.Second)
			continue
		default: // the others had what came, or nobody
			l.t.miss([]uint64{l.id}, patterns.Gap{Reason: patterns.GapRelay})
		}
		l.mu.Lock()
		l.at = listen
		l.mu.Unlock()
	}
}

// pause pauses what is shared with others, or no longer does.
func (t *topics) pause(on bool) {
	for _, k := range t.c.claims.all(subscription) {
		if l, ok := k.place.(*listener); ok {
			l.pause(on)
		}
	}
}

// Deliver implements pubsub.Sink: for each message one frame for all of the client's
// subscriptions that it is for, or a loss.
func (t *topics) Deliver(d *pubsub.Delivery, ids []uint64) {
	publisher := d.From
	if publisher == "" {
		publisher = t.c.relay.names.name(d.Publisher)
	}
	m := wire.LeafPublication{Publisher: publisher, Topic: d.Topic, Subscriptions: ids}
	var buf [512]byte
	head := m.AppendHead(buf[:0])
	for tails := d.Tails; len(tails) > 0; {
		n := slices.IndexFunc(tails, func(tail []byte) bool { return t.c.tooLarge(len(tail)) })
		if n == 0 {
			t.c.relay.count.add(dropBadPublication, len(ids))
			t.miss(ids, patterns.Gap{From: publisher, Missed: 1, Exact: true, Reason: patterns.GapLost})
			tails = tails[1:]
			continue
		}
		if n < 0 {
			n = len(tails)
		}
		t.send(head, tails[:n], ids, publisher)
		tails = tails[n:]
	}
}

// send puts messages into the client's lane. From the first one on for which it has no
// room they are lost.
func (t *topics) send(head []byte, tails [][]byte, ids []uint64, publisher string) {
	var n int
	var err error = session.ErrLaneFull
	t.mu.Lock()
	switch {
	case !t.lost.empty():
	case packs(t.c):
		n, err = t.packed.send(t.c.sess, head, tails)
	default:
		n, err = session.SendRun(t.c.sess, wire.LanePub, wire.KindPublish, head, tails)
	}
	t.mu.Unlock()
	if err == session.ErrLaneFull {
		missed := len(tails) - n
		t.c.relay.count.add(dropSlowPublication, missed*len(ids))
		t.miss(ids, patterns.Gap{From: publisher, Missed: uint64(missed), Exact: true, Reason: patterns.GapSlow})
	}
}

// Gap implements pubsub.Sink.
func (t *topics) Gap(g patterns.Gap, ids []uint64) { t.miss(ids, g) }

// gapReasons are the reasons as they travel; others are wire.GapLost.
var gapReasons = map[patterns.GapReason]wire.GapReason{
	patterns.GapSlow: wire.GapSlow, patterns.GapLane: wire.GapLane, patterns.GapRelay: wire.GapRelay,
	patterns.GapPublisher: wire.GapPublisher, patterns.GapUnsigned: wire.GapUnsigned, patterns.GapBorder: wire.GapBorder,
}

// miss has the client told of a loss, as soon as there is room: before that,
// nothing else is sent to its subscriptions.
func (t *topics) miss(ids []uint64, g patterns.Gap) {
	t.mu.Lock()
	t.lost.add(ids, g)
	start := !t.tell() && !t.telling
	t.telling = t.telling || start
	t.mu.Unlock()
	if start && !t.c.spawn("relay/gap", t.tellLater) {
		t.mu.Lock()
		t.telling = false // the next one tries again
		t.mu.Unlock()
	}
}

// tellRoom is how much room there has to be before a client is told what is lost,
// in bytes: a gap for each message would help nobody.
func (t *topics) tellRoom() int { return min(t.c.relay.cfg.Limits.PublicationBytes/4, 1<<20) }

// tell says what is lost, as far as there is room, and whether that is all. The
// caller holds mu.
func (t *topics) tell() bool {
	if !t.c.sess.HasRoom(wire.LanePub, t.tellRoom()) {
		return false
	}
	for !t.lost.empty() {
		g := t.lost.next()
		if _, err := t.c.sess.Send(wire.LanePub, wire.KindGap, g.AppendTo(nil)); err != nil {
			return false
		}
		t.lost.told(&g)
	}
	return true
}

// tellLater tells what is lost once the client has read some of what waits.
func (t *topics) tellLater() {
	for {
		left, err := t.c.sess.WaitRoom(t.c.ctx, wire.LanePub, t.tellRoom())
		t.mu.Lock()
		all := err != nil || t.tell()
		t.telling = !all
		t.mu.Unlock()
		if left != nil {
			left()
		}
		if all {
			return
		}
	}
}

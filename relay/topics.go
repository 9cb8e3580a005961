// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
)

// topics are the subscriptions of one client. An idle one has no goroutine.
type topics struct {
	// Immutable after newTopics.
	c      *client
	outlet *pubsub.Outlet

	// Guarded by mu.
	mu      sync.Mutex
	byID    map[uint64]*subscription
	lost    losses
	telling bool // somebody waits for room to tell what is lost
	waiters int  // full subscriptions that have publishers wait
}

// subscription is what a client asked for.
type subscription struct {
	id     uint64
	ctx    context.Context // when it ends, everything is over at once
	cancel context.CancelFunc
	ready  chan struct{} // closed when the Subscribe was answered
	blocks *blocking     // nil = an ordinary one

	// Guarded by topics.mu.
	failed bool // it was never there
	asked  bool // a Done for a Leave is due
}

var _ pubsub.Sink = (*topics)(nil)

func newTopics(c *client, origin uint64) *topics {
	t := &topics{c: c, byID: map[uint64]*subscription{}}
	t.outlet = c.relay.cfg.Node.Outlet(t, origin)
	return t
}

func (t *topics) handleSubscribe(body []byte) error {
	f, err := wire.DecodeSubscribe(body)
	if err != nil {
		return malformed(err)
	}
	s := &subscription{id: f.ID, ready: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(t.c.ctx)
	if f.Options&wire.SubscribeBlocks != 0 {
		s.blocks = newBlocking(t, &f)
	}
	err = t.add(s)
	switch {
	case err == errDuplicate || t.c.members.has(f.ID):
		return undue(fmt.Sprintf("id %d is in use", f.ID))
	case err == nil && !t.c.spawn("relay/subscribe", func() { t.open(s, &f) }):
		t.forget(s)
		err = patterns.ErrOverloaded
	}
	if err != nil {
		s.cancel()
		t.c.relay.count.limit(err)
		t.c.done(wire.LanePub, f.ID, err, 0)
	}
	return nil
}

// add takes a place for a subscription.
func (t *topics) add(s *subscription) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.byID[s.id] != nil:
		return errDuplicate
	case t.c.relay.isDraining():
		return errDraining
	case len(t.byID) >= t.c.relay.cfg.Limits.Subscriptions:
		return ErrTooManySubscriptions
	}
	t.byID[s.id] = s
	return nil
}

// has says that a subscription has the id.
func (t *topics) has(id uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id] != nil
}

// open subscribes at the node.
func (t *topics) open(s *subscription, f *wire.Subscribe) {
	ctx, cancel := t.c.within(s.ctx, micros(f.Timeout, registerTimeout))
	defer cancel()
	opts := patterns.SubscribeOptions{Queue: f.Queue, NoEcho: f.Options&wire.SubscribeNoEcho != 0}
	var err error
	if s.blocks != nil {
		err = s.blocks.open(ctx, f.Pattern, opts)
	} else {
		err = t.outlet.Subscribe(ctx, f.ID, f.Pattern, opts)
	}
	if err == nil {
		t.c.done(wire.LanePub, s.id, nil, 0)
		close(s.ready)
		return
	}
	if t.c.relay.isDraining() {
		err = errDraining
	}
	asked := t.forget(s)
	t.c.done(wire.LanePub, s.id, err, 0)
	if asked {
		t.c.done(wire.LanePub, s.id, nil, 0)
	}
	close(s.ready)
}

// forget gives id and place free, and says whether the client waits for the end.
func (t *topics) forget(s *subscription) (asked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, s.id)
	t.lost.forget(s.id)
	s.failed = true
	s.cancel()
	return s.asked
}

// handleLeave ends a subscription; false if there is none of that id.
func (t *topics) handleLeave(f wire.Leave) bool {
	t.mu.Lock()
	s := t.byID[f.ID]
	if s == nil {
		t.mu.Unlock()
		return false
	}
	again := s.asked
	s.asked = true
	t.mu.Unlock()
	if again || !t.c.spawn("relay/unsubscribe", func() { t.close(s, micros(f.Timeout, 0)) }) {
		s.cancel()
	}
	return true
}

// close ends a subscription; what has come for it is in the client's lane.
func (t *topics) close(s *subscription, patience time.Duration) {
	select {
	case <-s.ready:
	case <-s.ctx.Done():
		<-s.ready // open sees it, too
	}
	t.mu.Lock()
	failed := s.failed
	t.mu.Unlock()
	if failed {
		return
	}
	ctx, cancel := s.ctx, context.CancelFunc(func() {})
	if patience > 0 {
		ctx, cancel = t.c.within(ctx, patience)
	}
	defer cancel()
	var err error
	if s.blocks != nil {
		err = s.blocks.close(ctx)
	} else {
		t.outlet.Unsubscribe(ctx, s.id)
	}
	if t.c.ctx.Err() != nil {
		return // end sees to it
	}
	if t.forget(s) {
		t.c.done(wire.LanePub, s.id, err, 0)
	}
}

// Deliver implements pubsub.Sink: one frame for all of the client's subscriptions
// that the message is for, or a loss.
func (t *topics) Deliver(d *pubsub.Delivery, ids []uint64) {
	publisher := t.c.relay.nameOf(d.Publisher)
	m := wire.LeafPublication{Publisher: publisher, Topic: d.Topic, Subscriptions: ids}
	if t.c.tooLarge(len(d.Tail)) {
		t.c.relay.count.add(dropBadPublication, len(ids))
		t.miss(ids, loss{1, true, wire.GapLost, publisher})
		return
	}
	var buf [512]byte
	head := m.AppendHead(buf[:0])
	t.mu.Lock()
	err := session.ErrLaneFull
	if t.lost.empty() {
		_, err = t.c.sess.Send(wire.LanePub, wire.KindPublish, head, d.Tail)
	}
	if err == nil {
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	if err == session.ErrLaneFull {
		t.c.relay.count.add(dropSlowPublication, len(ids))
		t.miss(ids, loss{1, true, wire.GapSlow, publisher})
	}
}

// Gap implements pubsub.Sink.
func (t *topics) Gap(g patterns.Gap, ids []uint64) {
	t.miss(ids, loss{g.Missed, g.Exact, gapReason(g.Reason), g.From})
}

// gapReason returns the reason as it travels.
func gapReason(r patterns.GapReason) wire.GapReason {
	switch r {
	case patterns.GapSlow:
		return wire.GapSlow
	case patterns.GapLane:
		return wire.GapLane
	case patterns.GapRelay:
		return wire.GapRelay
	case "publisher":
		return wire.GapPublisher
	}
	return wire.GapLost
}

// miss has the client told of a loss, as soon as there is room: before that,
// nothing else is sent to its subscriptions.
func (t *topics) miss(ids []uint64, x loss) {
	t.mu.Lock()
	t.lost.add(ids, x)
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

// drain ends every subscription; what has come is in the client's lane.
func (t *topics) drain() {
	t.mu.Lock()
	var list []*subscription
	for _, s := range t.byID {
		if !s.asked {
			s.asked = true
			list = append(list, s)
		}
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b *subscription) int { return cmp.Compare(a.id, b.id) })
	var wg sync.WaitGroup
	for _, s := range list {
		wg.Add(1)
		ok := t.c.spawn("relay/unsubscribe", func() {
			defer wg.Done()
			t.close(s, flushPatience)
		})
		if !ok { // the session is over
			wg.Done()
		}
	}
	wg.Wait()
}

// end is after the session.
func (t *topics) end() {
	t.outlet.Close()
	t.mu.Lock()
	list := make([]*subscription, 0, len(t.byID))
	for _, s := range t.byID {
		list = append(list, s)
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b *subscription) int { return cmp.Compare(a.id, b.id) })
	for _, s := range list {
		s.cancel()
		if s.blocks != nil {
			<-s.ready
			s.blocks.close(t.c.ctx)
		}
	}
}

// count says how many subscriptions there are.
func (t *topics) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire/header"
	"github.com/arke-mesh/arke/patterns"
)

// Publication is one message of a topic.
type Publication struct {
	Topic string
	// From is the id of the publisher's node; of one in another network ID@NETWORK, as
	// the gateway says that brings it.
	From string
	// Headers and Body are shared by all subscriptions of a node. Do not change
	// them. Body lies among messages that came with it, in up to 64 KiB that stay as
	// long as one of them is kept: copy it, if you keep a few of many for long.
	Headers Headers
	Body    []byte
}

// Gap says that messages are missing. See OnGap.
type Gap struct {
	// From is the id of the publisher's node, as in Publication. It is "" if messages of several
	// publishers are missing.
	From string
	// Missed is how many messages are missing. If Exact is false, it is an upper
	// bound, and 0 means that nobody knows how many.
	Missed uint64
	Exact  bool
	Reason GapReason
}

// GapReason says why messages are missing.
type GapReason string

// The reasons.
const (
	GapSlow      = GapReason(patterns.GapSlow)      // the subscription's buffer was full
	GapLane      = GapReason(patterns.GapLane)      // a queue on the way was full
	GapLost      = GapReason(patterns.GapLost)      // a connection or a node on the way was lost
	GapRelay     = GapReason(patterns.GapRelay)     // the relay was lost, or had no room for this program
	GapPublisher = GapReason(patterns.GapPublisher) // the publisher's process was lost
	GapUnsigned  = GapReason(patterns.GapUnsigned)  // not signed by its publisher, or seen before: see Signed
	GapBorder    = GapReason(patterns.GapBorder)    // a gateway could not bring it from another network
)

// SubscriptionStatus counts what a subscription got.
type SubscriptionStatus struct {
	Delivered uint64 // messages that the subscriber got
	Missed    uint64 // messages that are missing: the sum of all gaps
	Queued    int    // messages that wait for the subscriber
	Bytes     int    // bytes that wait for the subscriber
}

// Subscription listens to the topics of one pattern. Methods may be called
// concurrently.
type Subscription struct {
	// Immutable.
	inner patterns.Subscription
	conn  *Conn
	loop  *loop // nil: a function takes the messages
	gap   func(Gap)
}

// Pattern returns the pattern of the subscription.
func (s *Subscription) Pattern() string { return s.inner.Pattern() }

// Status returns the counts since Subscribe.
func (s *Subscription) Status() SubscriptionStatus {
	if s.loop == nil {
		return SubscriptionStatus(s.inner.Status())
	}
	unread := s.loop.unread.Load() // first: inner has counted them as delivered before
	status := SubscriptionStatus(s.inner.Status())
	status.Delivered -= unread
	status.Missed += unread
	return status
}

// Messages returns the messages, for a loop:
//
//	for m := range sub.Messages() {
//		…
//	}
//
// The loop ends when the subscription or the Conn is closed. After a break another
// loop can go on. Several loops at once share the messages. A slow loop fills the
// buffer, and the option WhenFull says what happens then. A subscription of
// SubscribeFunc yields nothing.
func (s *Subscription) Messages() iter.Seq[Publication] {
	return func(yield func(Publication) bool) {
		if s.loop == nil {
			return
		}
		s.loop.enter()
		defer s.loop.leave()
		for {
			select {
			case e := <-s.loop.next:
				if e.gap == nil {
					if !yield(e.publication) {
						return
					}
				} else if s.gap != nil {
					s.gap(*e.gap)
				}
			case <-s.loop.ended:
				return
			}
		}
	}
}

// Close ends the subscription. A loop that runs, or the subscriber's function, gets
// the messages in the buffer first, until ctx ends. Neither of them may call Close:
// leave the loop first. A second call does nothing.
func (s *Subscription) Close(ctx context.Context) error {
	if s.loop == nil {
		return outward(s.inner.Close(ctx))
	}
	s.loop.close()
	err := s.inner.Close(ctx)
	s.loop.abandon()
	s.loop.end()
	s.conn.mu.Lock()
	delete(s.conn.loops, s)
	s.conn.mu.Unlock()
	return outward(err)
}

// calls is a Subscriber that calls functions.
type calls struct {
	f   func(Publication)
	gap func(Gap) // may be nil
}

// ServePublication implements patterns.Subscriber.
func (c *calls) ServePublication(p patterns.Publication) { c.f(outerPublication(p)) }

// ServeGap implements patterns.Subscriber.
func (c *calls) ServeGap(g patterns.Gap) {
	if c.gap != nil {
		c.gap(outerGap(g))
	}
}

func outerPublication(p patterns.Publication) Publication {
	return Publication{Topic: p.Topic, From: p.From, Headers: header.Convert[Header](p.Headers), Body: p.Body}
}

func outerGap(g patterns.Gap) Gap {
	return Gap{From: g.From, Missed: g.Missed, Exact: g.Exact, Reason: GapReason(g.Reason)}
}

// loop is a Subscriber that hands over to range loops.
type loop struct {
	next  chan event    // unbuffered: the queue is the subscription's
	gone  chan struct{} // closed: nobody takes anything any more
	ended chan struct{} // closed: nothing comes any more

	unread atomic.Uint64 // messages that no loop has taken

	mu      sync.Mutex
	readers int  // guarded by mu; loops that run
	closing bool // guarded by mu
	left    bool // guarded by mu; gone is closed
	over    bool // guarded by mu; ended is closed
}

// event is a message or a gap.
type event struct {
	publication Publication
	gap         *Gap
}

func newLoop() *loop {
	return &loop{next: make(chan event), gone: make(chan struct{}), ended: make(chan struct{})}
}

// ServePublication implements patterns.Subscriber.
func (l *loop) ServePublication(p patterns.Publication) {
	l.give(event{publication: outerPublication(p)})
}

// ServeGap implements patterns.Subscriber.
func (l *loop) ServeGap(g patterns.Gap) {
	gap := outerGap(g)
	l.give(event{gap: &gap})
}

func (l *loop) give(e event) {
	select {
	case l.next <- e:
	case <-l.gone:
		if e.gap == nil {
			l.unread.Add(1)
		}
	}
}

func (l *loop) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers++
}

func (l *loop) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers--
	l.releaseLocked()
}

// close says that only loops that run now may take what is left.
func (l *loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.releaseLocked()
}

// abandon says that nobody takes anything any more.
func (l *loop) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing, l.readers = true, 0
	l.releaseLocked()
}

func (l *loop) releaseLocked() {
	if l.closing && l.readers <= 0 && !l.left {
		l.left = true
		close(l.gone)
	}
}

// end lets loops end.
func (l *loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.ended)
	}
}

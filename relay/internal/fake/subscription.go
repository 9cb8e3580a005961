// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"slices"

	"github.com/arke-mesh/arke/patterns"
)

// subscription has a goroutine while something waits.
type subscription struct {
	// Immutable after Subscribe.
	node       *Node
	pattern    string
	subscriber patterns.Subscriber
	o          patterns.SubscribeOptions

	// Guarded by node.mu.
	line    []item
	length  int // messages in line
	bytes   int // of them
	working bool
	idle    chan struct{} // closed when nothing waits any more; nil = nobody asks
	room    chan struct{} // closed when there may be room; nil = nobody asks
	status  patterns.SubscriptionStatus
}

// item is a message, or else a gap.
type item struct {
	p *patterns.Publication
	g patterns.Gap
}

func size(p *patterns.Publication) int { return len(p.Topic) + len(p.Body) }

func (s *subscription) hasRoom(p *patterns.Publication) bool {
	return s.length == 0 || s.length < s.o.QueueLength && s.bytes+size(p) <= s.o.QueueBytes
}

// put queues a message, or a gap. The caller holds mu.
func (s *subscription) put(p *patterns.Publication) {
	for !s.hasRoom(p) {
		lost := patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: patterns.GapSlow}
		if s.o.Overflow != patterns.OverflowOldest {
			s.gap(lost)
			return
		}
		i := slices.IndexFunc(s.line, func(i item) bool { return i.p != nil })
		s.length--
		s.bytes -= size(s.line[i].p)
		s.line[i] = item{g: lost}
		if i > 0 { // a gap stands before it
			s.line[i-1].g.Missed++
			s.line = slices.Delete(s.line, i, i+1)
		}
	}
	s.length++
	s.bytes += size(p)
	s.push(item{p: p})
}

func (s *subscription) gap(g patterns.Gap) { s.push(item{g: g}) }

func (s *subscription) push(i item) {
	s.line = append(s.line, i)
	if !s.working {
		s.working = true
		s.node.wg.Go(s.work)
	}
}

// work delivers until nothing waits.
func (s *subscription) work() {
	n := s.node
	for {
		n.mu.Lock()
		if len(s.line) == 0 || n.closed {
			s.working = false
			if s.idle != nil {
				close(s.idle)
				s.idle = nil
			}
			n.mu.Unlock()
			return
		}
		next := s.line[0]
		s.line = s.line[1:]
		if next.p != nil {
			s.length--
			s.bytes -= size(next.p)
			s.status.Delivered++
		} else {
			s.status.Missed += next.g.Missed
		}
		if s.room != nil {
			close(s.room)
			s.room = nil
		}
		n.mu.Unlock()
		if next.p != nil {
			s.subscriber.ServePublication(next.p)
		} else {
			s.subscriber.ServeGap(next.g)
		}
	}
}

// Pattern implements patterns.Subscription.
func (s *subscription) Pattern() string { return s.pattern }

// Status implements patterns.Subscription.
func (s *subscription) Status() patterns.SubscriptionStatus {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	status := s.status
	status.Queued, status.Bytes = s.length, s.bytes
	return status
}

// Close implements patterns.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	n := s.node
	n.mu.Lock()
	n.subscriptions = slices.DeleteFunc(n.subscriptions, func(x *subscription) bool { return x == s })
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	if !s.working {
		n.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	n.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		n.mu.Lock()
		s.line, s.length, s.bytes = nil, 0, 0
		n.mu.Unlock()
		return ctx.Err()
	}
}

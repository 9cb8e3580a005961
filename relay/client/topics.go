// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// topics hands what is published to the subscriptions that the relay names.
type topics struct {
	mu   sync.RWMutex
	subs map[uint64]*subscription // guarded by mu

	link    *link
	heading heading // owned by the link's reader
}

func newTopics(l *link) *topics {
	t := &topics{subs: map[uint64]*subscription{}, link: l}
	l.listen(wire.KindPublish, t.handlePublication)
	l.listen(wire.KindGap, t.handleGap)
	return t
}

func (t *topics) add(s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subs[s.claim.id] = s
}

func (t *topics) remove(s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, s.claim.id)
}

// all returns the subscriptions that there are.
func (t *topics) all() []*subscription {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return inOrder(t.subs)
}

// handlePublication takes messages in. It keeps a long frame.
func (t *topics) handlePublication(frame []byte) (kept bool) {
	tail, err := t.heading.take(frame)
	if err != nil {
		return false
	}
	all, count, kept, err := messagesOf(tail, t.link.several)
	if err != nil {
		return false
	}
	of := &t.heading.of
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range of.Subscriptions {
		if s := t.subs[id]; s != nil {
			s.put(inbox.Run{Topic: of.Topic, From: of.Publisher, Messages: all, Count: count})
		}
	}
	return kept
}

// handleGap takes in that messages are missing.
func (t *topics) handleGap(frame []byte) (kept bool) {
	f, err := wire.DecodeGap(frame)
	if err != nil {
		return false
	}
	g := patterns.Gap{From: f.Publisher, Missed: f.Missed, Exact: f.Exact, Reason: gapReasons[f.Reason]}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range f.Subscriptions {
		if s := t.subs[id]; s != nil {
			s.inbox.Gap(g)
		}
	}
	return false
}

var gapReasons = map[wire.GapReason]patterns.GapReason{
	wire.GapSlow: patterns.GapSlow, wire.GapLane: patterns.GapLane, wire.GapLost: patterns.GapLost,
	wire.GapRelay: patterns.GapRelay, wire.GapPublisher: patterns.GapPublisher, wire.GapUnsigned: patterns.GapUnsigned,
	wire.GapBorder: patterns.GapBorder,
}

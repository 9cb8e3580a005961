// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// topics hands what is published to the subscriptions that the relay names.
type topics struct {
	mu   sync.RWMutex
	subs map[uint64]*subscription // guarded by mu

	link *link
	run  run // owned by the link's reader
}

func newTopics(l *link) *topics {
	t := &topics{subs: map[uint64]*subscription{}, link: l}
	l.listen(wire.KindPublish, t.handlePublication)
	l.rest = t.handed
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

// handlePublication takes a message in, which handed hands on: soon, with others that
// come with it. It keeps the frame if it is long.
func (t *topics) handlePublication(frame []byte) (kept bool) {
	tail, ok := t.run.follows(frame)
	if !ok {
		t.handed()
		var err error
		if tail, err = t.run.begin(frame); err != nil {
			return false
		}
	}
	if t.link.several {
		kept, _ = t.run.several(tail, t.handed)
		return kept
	}
	kept, more, err := t.run.add(tail)
	if err == nil && !more {
		t.handed()
	}
	return kept
}

// handed hands on what has come. The link's reader calls it before it looks at anything
// else, and before it waits.
func (t *topics) handed() {
	pubs := t.run.take()
	if len(pubs) == 0 {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range t.run.of.Subscriptions {
		if s := t.subs[id]; s != nil {
			s.put(pubs)
		}
	}
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

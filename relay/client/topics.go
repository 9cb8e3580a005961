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

	// Owned by the link's reader.
	ids   []uint64
	known wire.Texts
	fresh []patterns.Publication // not used yet
}

const (
	// shared is how many publications share an allocation, if they are no longer
	// than sharedSize: so few bytes that it does not matter that a program which
	// keeps one of them keeps the others, too.
	shared     = 8
	sharedSize = 4 << 10
)

// publication returns memory for one that came in a frame of n bytes.
func (t *topics) publication(n int) *patterns.Publication {
	if n > sharedSize {
		return &patterns.Publication{}
	}
	if len(t.fresh) == 0 {
		t.fresh = make([]patterns.Publication, shared)
	}
	p := &t.fresh[0]
	t.fresh = t.fresh[1:]
	return p
}

func newTopics(l *link) *topics {
	t := &topics{subs: map[uint64]*subscription{}}
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

// handlePublication takes a message in. It keeps the frame unless it is for
// nobody any more.
func (t *topics) handlePublication(frame []byte) (kept bool) {
	f, err := wire.DecodeLeafPublication(frame, t.ids[:0], &t.known)
	if err != nil {
		return false
	}
	t.ids = f.Subscriptions
	headers, body, err := wire.SplitTail(f.Tail)
	if err != nil {
		return false
	}
	p := t.publication(len(frame))
	*p = patterns.Publication{
		Topic: f.Topic, From: f.Publisher, Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body,
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range f.Subscriptions {
		if s := t.subs[id]; s != nil {
			s.put(p)
			kept = true
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

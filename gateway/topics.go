// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/overlay"
)

// topicLends are the topics that are lent.
type topicLends struct {
	mu  sync.Mutex
	all map[TopicCrossing]*topicLend // guarded by mu: those in force, by their crossing without its limits
}

// replace has these be in force, and no others.
func (t *topicLends) replace(g *Gateway, all []TopicCrossing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dismiss(t.all, all, (*topicLend).stop)
	for _, c := range all {
		key := c.key()
		l := t.all[key]
		if l == nil {
			l = newTopicLend(g, key)
			t.all[key] = l
			g.spawn(overlay.ExecKey{Name: "gateway.topic", N: l.number}, l.run)
		}
		l.limit(c.Limits)
	}
}

// sorted returns what is lent, in the order of networks and topics.
func (t *topicLends) sorted() []*topicLend {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.all), func(a, b *topicLend) int {
		return cmp.Or(cmp.Compare(a.what.From, b.what.From), cmp.Compare(a.what.To, b.what.To), cmp.Compare(a.what.Topic, b.what.Topic))
	})
}

// drain takes back what is lent, and waits until publishers know, or ctx ends.
func (t *topicLends) drain(ctx context.Context) {
	all := t.sorted()
	for _, l := range all {
		l.stop()
	}
	for _, l := range all {
		l.waitOver(ctx)
	}
}

// TopicStatus is one TopicCrossing that is in force.
type TopicStatus struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Topic    string `json:"topic"`
	As       string `json:"as"`              // what it is called in To
	Listened bool   `json:"listened"`        // somebody in To listens
	Lent     bool   `json:"lent"`            // the gateway listens in From
	Error    string `json:"error,omitempty"` // why it could not

	Messages uint64            `json:"messages"` // that have crossed by this gateway, since the start
	Bytes    uint64            `json:"bytes"`    // of bodies and headers
	Missed   uint64            `json:"missed"`   // that have not come as far as this gateway
	Refused  map[string]uint64 `json:"refused"`  // reason to count: those who listen are told of a gap
}

func (l *topicLend) status() TopicStatus {
	s := TopicStatus{
		From: l.what.From, To: l.what.To, Topic: l.what.Topic, As: l.what.there(l.what.Topic),
		Messages: l.border.messages.Load(), Bytes: l.border.bytes.Load(), Missed: l.missed.Load(), Refused: l.border.refused.ByName(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Listened, s.Lent = l.listened, l.lent
	if l.fault != nil {
		s.Error = l.fault.Error()
	}
	return s
}

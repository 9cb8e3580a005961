// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"strings"
	"sync"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// finder finds the subscriptions that a topic is for: of all groups whose keys are the
// node's own, or of one group under keys that somebody has brought. What it has
// answered of late it knows by topic: at most limit.
type finder struct {
	plain match.Index[*subscription] // of patterns that begin with a word
	root  match.Index[*subscription] // of the others
	limit int

	mu  sync.Mutex
	all map[string]*answer // guarded by mu
}

// answer is the subscriptions here that a topic, which is legal, is for. It is immutable.
type answer struct {
	topic   string
	word    string   // its first one
	groups  []string // whose subscriptions they are
	plain   []*subscription
	root    []*subscription
	changes uint64 // of the indexes, when they were asked
}

func (a *answer) of(root bool) []*subscription {
	if root {
		return a.root
	}
	return a.plain
}

// joined is what a message is for that is for those of several groups.
func (a *answer) joined(b *answer) *answer {
	return &answer{topic: a.topic, word: a.word, groups: slices.Concat(a.groups, b.groups), plain: slices.Concat(a.plain, b.plain)}
}

// atOnce says whether all these subscriptions, if there are any, get whatever is
// published, and at once: none is of a queue or a gateway, or has an inbox.
func (a *answer) atOnce() bool {
	other := func(s *subscription) bool { return s.queue != 0 || s.proxy == nil || s.proxy.lender }
	return a == nil || !slices.ContainsFunc(a.plain, other) && !slices.ContainsFunc(a.root, other)
}

// index is where a subscription is found.
func (f *finder) index(root bool) *match.Index[*subscription] {
	if root {
		return &f.root
	}
	return &f.plain
}

// any says whether there are subscriptions.
func (f *finder) any() bool { return f.plain.Len() > 0 || f.root.Len() > 0 }

// changes counts those of the indexes.
func (f *finder) changes() uint64 { return f.plain.Changes() + f.root.Changes() }

// answer returns what there is for a legal topic, in the group of that name.
func (f *finder) answer(group, topic string) *answer {
	f.mu.Lock()
	a := f.all[topic]
	f.mu.Unlock()
	if a != nil && a.changes == f.changes() {
		return a
	}
	return f.ask(group, strings.Clone(topic))
}

// answerFor is answer for a topic that came; nil if it is not legal. group is "" where
// that is the topic's first word.
func (f *finder) answerFor(group string, topic []byte) *answer {
	f.mu.Lock()
	a := f.all[string(topic)]
	f.mu.Unlock()
	if a != nil && a.changes == f.changes() {
		return a
	}
	if text := string(topic); match.CheckTopic(text) == nil {
		return f.ask(group, text)
	}
	return nil
}

func (f *finder) ask(group, topic string) *answer {
	a := &answer{topic: topic, word: env.FirstWord(topic), changes: f.changes()}
	if group == "" {
		group = a.word
	}
	a.groups = []string{group}
	a.plain, a.root = f.plain.Match(topic, nil), f.root.Match(topic, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil || len(f.all) >= f.limit {
		f.all = make(map[string]*answer)
	}
	f.all[topic] = a
	return a
}

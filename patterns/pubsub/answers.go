// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"strings"
	"sync"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
)

// answers is what the indexes of the subscriptions here have answered of late, by
// topic: at most maxPrepared.
type answers struct {
	mu  sync.Mutex
	all map[string]*answer // guarded by mu
}

// answer is the subscriptions here that a topic, which is legal, is for.
type answer struct {
	topic   string
	group   string // its first word
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

// changes counts those of the indexes.
func (l *local) changes() uint64 { return l.plain.Changes() + l.root.Changes() }

// answer returns what there is for a legal topic.
func (l *local) answer(topic string) *answer {
	l.answers.mu.Lock()
	a := l.answers.all[topic]
	l.answers.mu.Unlock()
	if a != nil && a.changes == l.changes() {
		return a
	}
	return l.ask(strings.Clone(topic))
}

// answerFor is answer for a topic that came; nil if it is not legal.
func (l *local) answerFor(topic []byte) *answer {
	l.answers.mu.Lock()
	a := l.answers.all[string(topic)]
	l.answers.mu.Unlock()
	if a != nil && a.changes == l.changes() {
		return a
	}
	if text := string(topic); match.CheckTopic(text) == nil {
		return l.ask(text)
	}
	return nil
}

func (l *local) ask(topic string) *answer {
	a := &answer{topic: topic, group: firstWord(topic), changes: l.changes()}
	a.plain, a.root = l.plain.Match(topic, nil), l.root.Match(topic, nil)
	l.answers.mu.Lock()
	defer l.answers.mu.Unlock()
	if l.answers.all == nil || len(l.answers.all) >= maxPrepared {
		l.answers.all = make(map[string]*answer)
	}
	l.answers.all[topic] = a
	return a
}

// groupOf returns the group of messages that came. It is false if their topics are
// not legal, or not of one group where they have to be.
func (l *local) groupOf(m *wire.Publish) (group string, ok bool) {
	rest, last := m.Messages, wire.Message{}
	for left := m.Named; left > 0; {
		if last = rest.Next(last); !last.Named {
			continue
		}
		left--
		a := l.answerFor(last.Topic)
		switch {
		case a == nil:
			return "", false
		case group != "" && a.group != group && m.Flags&wire.FlagRoot == 0:
			return "", false
		}
		group = a.group
	}
	return group, true
}

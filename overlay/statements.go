// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/pace"
	"github.com/arke-mesh/arke/internal/wire"
)

// Topic says what a statement is about.
type Topic = wire.Statement_Topic

// Statement is what somebody who may do so tells all nodes of the network. Of two
// with one topic and subject the one with the larger number counts, whole. Nobody
// changes the slices.
type Statement struct {
	Topic   Topic
	Subject string // at most 64 bytes
	Number  uint64 // at least 1
	Body    []byte // at most 32 KiB
	Proof   []byte // at most 128 bytes
}

// statementName is what a statement replaces others of.
type statementName struct {
	topic   Topic
	subject string
}

func (s *Statement) name() statementName { return statementName{s.Topic, s.Subject} }

// statements is the core that knows which statements hold, and who has to be told
// which. It believes what it is given: the board checks.
type statements struct {
	topics map[Topic]*topicState
	held   map[statementName]Statement
	raises map[statementName]*pace.Meter // of those in held that peers have replaced
	peers  map[peer.ID]*audience
}

// topicState is what is kept of a topic.
type topicState struct {
	max    int                   // subjects
	count  int                   // of them
	yields func(*Statement) bool // says no more than that nothing holds; nil = none does
	idle   owing                 // subjects whose statements yield, the first first
	checks int                   // changes with what is found true
}

// raising is how often peers may replace the statement of one subject: what comes faster is
// asked for again, and by then only the last of it counts.
var raising = pace.Limit{Units: 1, Per: time.Second, Burst: 8 * time.Second}

// audience is what a peer that has a session has still to be told, the first that
// became due first.
type audience struct {
	owed    owing
	refused []Topic // of what it has said something was refused; it takes it for told
	late    []Topic // of what it has said something came too fast
	ask     []Topic // it is to be asked to say again what holds
}

func newStatements() *statements {
	return &statements{
		topics: make(map[Topic]*topicState), held: make(map[statementName]Statement),
		raises: make(map[statementName]*pace.Meter), peers: make(map[peer.ID]*audience),
	}
}

// topic makes room for statements of a topic.
func (c *statements) topic(t Topic, subjects int, yields func(*Statement) bool) {
	c.topics[t] = &topicState{max: subjects, yields: yields}
}

// judgement is what is to be done with a statement that was heard.
type judgement uint8

const (
	judgeStale judgement = iota // it says nothing new
	judgeFull                   // there are too many subjects
	judgeLate                   // it is asked for again
	judgeNews                   // if it is true, it holds
)

// judge says what a statement would change.
func (c *statements) judge(s *Statement) judgement {
	held, ok := c.held[s.name()]
	t := c.topics[s.Topic]
	switch {
	case ok && held.Number >= s.Number:
		return judgeStale
	case !ok && t.count >= t.max && (t.idle.empty() || t.yields(s)):
		return judgeFull
	}
	return judgeNews
}

// take makes a statement hold that is true, unless a newer one came meanwhile, or others
// of its subject came too fast. All peers are owed it then, but the one it came from; ""
// = it is this node's own.
func (c *statements) take(s Statement, from peer.ID, now int64) judgement {
	if verdict := c.judge(&s); verdict != judgeNews {
		return verdict
	}
	name := s.name()
	if _, replaces := c.held[name]; replaces && from != "" {
		m := c.raises[name]
		if m == nil {
			m = new(pace.Meter)
			c.raises[name] = m
		}
		if !m.Pass(raising, now, 1) {
			return judgeLate
		}
	}
	c.put(s)
	for p, a := range c.peers {
		if p == from {
			a.owed.remove(name)
		} else {
			a.owed.add(name)
		}
	}
	return judgeNews
}

// put has a statement hold. If there is no room the first that yields goes.
func (c *statements) put(s Statement) {
	name, t := s.name(), c.topics[s.Topic]
	if _, known := c.held[name]; !known {
		if t.count >= t.max {
			first, _ := t.idle.first()
			c.remove(first)
		}
		t.count++
	}
	c.held[name] = s
	t.idle.remove(name)
	if t.yields != nil && t.yields(&s) {
		t.idle.add(name)
	}
}

// remove takes a statement out.
func (c *statements) remove(name statementName) {
	t := c.topics[name.topic]
	t.count--
	t.idle.remove(name)
	delete(c.held, name)
	delete(c.raises, name)
	for _, a := range c.peers {
		a.owed.remove(name)
	}
}

// knows notes that p has said what is no news, so that it need not be told it.
func (c *statements) knows(p peer.ID, s *Statement) {
	name := s.name()
	if a := c.peers[p]; a != nil && s.Number >= c.held[name].Number {
		a.owed.remove(name)
	}
}

// renew puts another proof of the same in the place of a statement's. All peers are owed it.
func (c *statements) renew(s Statement) {
	name := s.name()
	if held, ok := c.held[name]; !ok || held.Number != s.Number || bytes.Equal(held.Proof, s.Proof) {
		return
	}
	c.held[name] = s
	for _, a := range c.peers {
		a.owed.add(name)
	}
}

// refuse notes that p has said something that was not taken for true, or had no room.
func (c *statements) refuse(p peer.ID, t Topic) {
	if a := c.peers[p]; a != nil {
		a.refused = with(a.refused, t)
	}
}

// postpone notes that p has said something too fast: it is to be asked for it, later.
func (c *statements) postpone(p peer.ID, t Topic) {
	if a := c.peers[p]; a != nil {
		a.late = with(a.late, t)
	}
}

// with is topics and t, once.
func with(topics []Topic, t Topic) []Topic {
	if slices.Contains(topics, t) {
		return topics
	}
	return append(topics, t)
}

// askLate has those asked who have said something too fast.
func (c *statements) askLate() {
	for _, a := range c.peers {
		for _, t := range a.late {
			a.ask = with(a.ask, t)
		}
		a.late = nil
	}
}

// rethink notes that what is found true has changed: checks that are under way count for
// nothing.
func (c *statements) rethink(t Topic) {
	if s := c.topics[t]; s != nil {
		s.checks++
	}
}

// recheck notes that other statements of a topic may be true than before: who has said
// something that was refused is to be asked to say it again.
func (c *statements) recheck(t Topic) {
	c.rethink(t)
	for _, a := range c.peers {
		n := len(a.refused)
		a.refused = slices.DeleteFunc(a.refused, func(each Topic) bool { return each == t })
		if len(a.refused) < n {
			a.ask = with(a.ask, t)
		}
	}
}

// askAll has all peers be asked to say again what holds about a topic.
func (c *statements) askAll(t Topic) {
	for p := range c.peers {
		c.refuse(p, t)
	}
	c.recheck(t)
}

// asked notes that p is to be told again what holds about a topic.
func (c *statements) asked(p peer.ID, t Topic) {
	a := c.peers[p]
	if a == nil {
		return
	}
	for _, name := range c.names() {
		if name.topic == t {
			a.owed.add(name) // once: a peer may ask again and again
		}
	}
}

// up notes that a session with p began: it is owed all that holds.
func (c *statements) up(p peer.ID) {
	a := &audience{}
	for _, name := range c.names() {
		a.owed.add(name)
	}
	c.peers[p] = a
}

// drop takes out what holds about a topic and is not to be kept, and returns it.
func (c *statements) drop(t Topic, keep func(Statement) bool) (dropped []Statement) {
	c.rethink(t)
	for _, name := range c.names() {
		if s := c.held[name]; name.topic == t && !keep(s) {
			dropped = append(dropped, s)
			c.remove(name)
		}
	}
	return dropped
}

// down notes that the session with p has ended.
func (c *statements) down(p peer.ID) { delete(c.peers, p) }

// due lists the peers that are owed something, or to be asked, by id.
func (c *statements) due() (all []peer.ID) {
	for p, a := range c.peers {
		if len(a.ask) > 0 || !a.owed.empty() {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// next is what p is to be told next; it is owed until told. One without a number asks.
func (c *statements) next(p peer.ID) (Statement, bool) {
	a := c.peers[p]
	if a == nil {
		return Statement{}, false
	}
	if len(a.ask) > 0 {
		return Statement{Topic: a.ask[0]}, true
	}
	name, ok := a.owed.first()
	return c.held[name], ok
}

// told notes that p was sent s. A newer one of that name, or another proof of it, is
// still owed.
func (c *statements) told(p peer.ID, s *Statement) {
	a := c.peers[p]
	switch held := c.held[s.name()]; {
	case a == nil:
	case s.Number == 0:
		a.ask = slices.DeleteFunc(a.ask, func(t Topic) bool { return t == s.Topic })
	case held.Number == s.Number && bytes.Equal(held.Proof, s.Proof):
		a.owed.remove(s.name())
	}
}

// names lists what holds, in an order that is the same for the same statements.
func (c *statements) names() []statementName {
	return slices.SortedFunc(maps.Keys(c.held), func(a, b statementName) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.subject, b.subject))
	})
}

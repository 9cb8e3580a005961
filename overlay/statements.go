// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

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
	limits map[Topic]int // of subjects
	held   map[statementName]Statement
	peers  map[peer.ID]*audience
}

// audience is what a peer that has a session has still to be told, the first that
// became due first.
type audience struct {
	owed    []statementName
	refused []Topic // of what it has said something was refused; it takes it for told
	ask     []Topic // it is to be asked to say again what holds
}

func newStatements() *statements {
	return &statements{
		limits: make(map[Topic]int), held: make(map[statementName]Statement), peers: make(map[peer.ID]*audience),
	}
}

// judgement is what is to be done with a statement that was heard.
type judgement uint8

const (
	judgeStale judgement = iota // it says nothing new
	judgeFull                   // there are too many subjects
	judgeNews                   // if it is true, it holds
)

// judge says what a statement would change.
func (c *statements) judge(s *Statement) judgement {
	held, ok := c.held[s.name()]
	switch {
	case ok && held.Number >= s.Number:
		return judgeStale
	case !ok && c.count(s.Topic) >= c.limits[s.Topic]:
		return judgeFull
	}
	return judgeNews
}

func (c *statements) count(t Topic) (n int) {
	for name := range c.held {
		if name.topic == t {
			n++
		}
	}
	return n
}

// take makes a statement hold that is true, unless a newer one came meanwhile. All
// peers are owed it then, but the one it came from; "" = it is this node's own.
func (c *statements) take(s Statement, from peer.ID) bool {
	if c.judge(&s) != judgeNews {
		return false
	}
	name := s.name()
	c.held[name] = s
	for p, a := range c.peers {
		if p == from {
			a.owed = slices.DeleteFunc(a.owed, func(n statementName) bool { return n == name })
		} else if !slices.Contains(a.owed, name) {
			a.owed = append(a.owed, name)
		}
	}
	return true
}

// knows notes that p has said what is no news, so that it need not be told it.
func (c *statements) knows(p peer.ID, s *Statement) {
	name := s.name()
	if a := c.peers[p]; a != nil && s.Number >= c.held[name].Number {
		a.owed = slices.DeleteFunc(a.owed, func(n statementName) bool { return n == name })
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
		if !slices.Contains(a.owed, name) {
			a.owed = append(a.owed, name)
		}
	}
}

// refuse notes that p has said something that was not taken for true, or had no room.
func (c *statements) refuse(p peer.ID, t Topic) {
	if a := c.peers[p]; a != nil && !slices.Contains(a.refused, t) {
		a.refused = append(a.refused, t)
	}
}

// recheck notes that other statements of a topic may be true than before: who has said
// something that was refused is to be asked to say it again.
func (c *statements) recheck(t Topic) {
	for _, a := range c.peers {
		n := len(a.refused)
		a.refused = slices.DeleteFunc(a.refused, func(each Topic) bool { return each == t })
		if len(a.refused) < n && !slices.Contains(a.ask, t) {
			a.ask = append(a.ask, t)
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
	owed := make(map[statementName]bool, len(a.owed)) // a peer may ask again and again
	for _, name := range a.owed {
		owed[name] = true
	}
	for _, name := range c.names() {
		if name.topic == t && !owed[name] {
			a.owed = append(a.owed, name)
		}
	}
}

// up notes that a session with p began: it is owed all that holds.
func (c *statements) up(p peer.ID) { c.peers[p] = &audience{owed: c.names()} }

// drop takes out what holds about a topic and is not to be kept, and returns it.
func (c *statements) drop(t Topic, keep func(Statement) bool) (dropped []Statement) {
	for _, name := range c.names() {
		if s := c.held[name]; name.topic == t && !keep(s) {
			dropped = append(dropped, s)
			delete(c.held, name)
			for _, a := range c.peers {
				a.owed = slices.DeleteFunc(a.owed, func(n statementName) bool { return n == name })
			}
		}
	}
	return dropped
}

// down notes that the session with p has ended.
func (c *statements) down(p peer.ID) { delete(c.peers, p) }

// due lists the peers that are owed something, or to be asked, by id.
func (c *statements) due() (all []peer.ID) {
	for p, a := range c.peers {
		if len(a.owed)+len(a.ask) > 0 {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// next is what p is to be told next; it is owed until told. One without a number asks.
func (c *statements) next(p peer.ID) (Statement, bool) {
	switch a := c.peers[p]; {
	case a == nil:
	case len(a.ask) > 0:
		return Statement{Topic: a.ask[0]}, true
	case len(a.owed) > 0:
		return c.held[a.owed[0]], true
	}
	return Statement{}, false
}

// told notes that p was sent s. A newer one of that name, or another proof of it, is
// still owed.
func (c *statements) told(p peer.ID, s *Statement) {
	a := c.peers[p]
	if a != nil && s.Number == 0 {
		a.ask = slices.DeleteFunc(a.ask, func(t Topic) bool { return t == s.Topic })
		return
	}
	if a == nil || len(a.owed) == 0 || a.owed[0] != s.name() {
		return
	}
	if held := c.held[s.name()]; held.Number != s.Number || !bytes.Equal(held.Proof, s.Proof) {
		return
	}
	a.owed = a.owed[1:]
}

// names lists what holds, in an order that is the same for the same statements.
func (c *statements) names() []statementName {
	return slices.SortedFunc(maps.Keys(c.held), func(a, b statementName) int {
		if a.topic != b.topic {
			return int(a.topic) - int(b.topic)
		}
		return strings.Compare(a.subject, b.subject)
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// local is the subscriptions on this node: finding those that a message is for.
type local struct {
	*env.Base
	publishers *publishers // of the root group's forwarder

	own     finder        // in the groups whose keys are the node's own
	turns   atomic.Uint64 // of queues
	brought atomic.Int32  // groups under keys that somebody has brought
	lives   lives

	mu     sync.Mutex
	subs   map[uint64]*subscription // guarded by mu
	groups map[string]*group        // guarded by mu; by name
	keyed  map[string][]*group      // guarded by mu; those whose keys not everybody has, by first word

	abroad *abroad // what gateways bring
}

func newLocal(b *env.Base, p *publishers) *local {
	l := &local{
		Base: b, publishers: p, own: finder{limit: fanout.MaxPrepared}, lives: lives{incarnation: b.Cfg.Incarnation},
		subs: make(map[uint64]*subscription), groups: make(map[string]*group), keyed: make(map[string][]*group),
	}
	l.abroad = &abroad{Base: b, local: l, all: crowd.NewTable[streamKey, peer.ID, *stream](env.MaxStreams, b.Random.IntN)}
	return l
}

// admit makes the subscription one of this node's.
func (l *local) admit(sub *subscription) error {
	if !l.Enter() {
		return patterns.ErrClosed
	}
	defer l.WG.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if sub.id == 0 {
		if len(l.subs) >= l.Cfg.MaxSubscriptions {
			l.Drops.Inc(env.DropSubscriptions)
			return fmt.Errorf("%w: subscriptions of one node: at most %d: close some, or use another node", patterns.ErrTooMany, l.Cfg.MaxSubscriptions)
		}
		sub.id = l.IDs.Add(1)
	}
	word, root := match.Group(sub.pattern)
	group := name.Ref(word, sub.options.Keys)
	if sub.group = l.groups[group]; sub.group == nil {
		g := newGroup(l, group, root)
		if g.keys.Gone() || !env.IsUnder(group, sub.options.Keys) {
			return env.NoKeys(sub.pattern)
		}
		sub.group, l.groups[group] = g, g
		if g.finder != &l.own {
			l.brought.Add(1)
		}
		l.enlist(g)
	}
	l.subs[sub.id] = sub
	return nil
}

func (l *local) remove(sub *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subs, sub.id)
}

// forget removes a group that nobody needs.
func (l *local) forget(g *group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.groups[g.name] == g {
		delete(l.groups, g.name)
		if g.finder != &l.own {
			l.brought.Add(-1)
		}
		l.strike(g)
	}
}

// all returns the groups and the subscriptions, each in a fixed order.
func (l *local) all() ([]*group, []*subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return env.Sorted(l.groups, func(g *group) string { return g.name }), env.Sorted(l.subs, func(s *subscription) uint64 { return s.id })
}

func (l *local) count() (groups, subs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.groups), len(l.subs)
}

// asks says whether a subscription of a group asks for signatures.
func (l *local) asks(group string) bool {
	return l.wants(group, func(i wire.Interest) bool { return i.Signed })
}

// wants says whether a subscription of a group is one of these.
func (l *local) wants(group string, these func(wire.Interest) bool) bool {
	g := l.find(group)
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, w := range g.wanted {
		if these(interestOf(k, w)) {
			return true
		}
	}
	return false
}

// find returns the group of that name; nil = there is none.
func (l *local) find(name string) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[name]
}

// any says whether there are subscriptions.
func (l *local) any() bool { return l.own.any() || l.brought.Load() > 0 }

// groupOf returns the first word of messages that came. It is false if their topics are
// not legal, or not of one group where they have to be.
func (l *local) groupOf(m *wire.Publish) (word string, ok bool) {
	rest, last := m.Messages, wire.Message{}
	for left := m.Named; left > 0; {
		if last = rest.Next(last); !last.Named {
			continue
		}
		left--
		a := l.own.answerFor("", last.Topic)
		switch {
		case a == nil:
			return "", false
		case word != "" && a.word != word && m.Flags&wire.FlagRoot == 0:
			return "", false
		}
		word = a.word
	}
	return word, true
}

// one chooses a subscription of a queue, in turns, among those that want what
// comes from there. What is wrong, because it is not signed, is for those that ask for
// no signature, as long as there is one.
func (l *local) one(subs []*subscription, queue uint64, from origin, wrong bool) *subscription {
	n, lax := 0, 0
	for _, s := range subs {
		if s.queue == queue && !s.echoes(from) {
			n++
			if !s.strict() {
				lax++
			}
		}
	}
	if n == 0 {
		return nil
	}
	if wrong = wrong && lax > 0; wrong {
		n = lax
	}
	n = int(l.turns.Add(1) % uint64(n))
	for _, s := range subs {
		if s.queue == queue && !s.echoes(from) && !(wrong && s.strict()) {
			if n == 0 {
				return s
			}
			n--
		}
	}
	return nil
}

// queues lists the queues here that a message is for; a may be nil.
func (a *answer) queues(root bool, from origin) (out []wire.Interest) {
	if a == nil {
		return nil
	}
	for _, s := range a.of(root) {
		if s.queue == 0 || s.echoes(from) {
			continue
		}
		i := slices.IndexFunc(out, func(o wire.Interest) bool { return o.Pattern == s.pattern && o.Queue == s.options.Queue })
		if i < 0 {
			out = append(out, wire.Interest{Pattern: s.pattern, Queue: s.options.Queue, Weight: 1})
		} else {
			out[i].Weight++
		}
	}
	return out
}

// published appends to dst the subscriptions that a message which is published
// here is for, with those that were picked of their queues. Patterns that begin with a
// wildcard are for what is public; a may be nil.
func (l *local) published(a *answer, public bool, from origin, picks []wire.Pick, dst []*subscription) []*subscription {
	if a == nil {
		return dst
	}
	for _, root := range []bool{false, true} {
		subs := a.of(root)
		if root && !public {
			break
		}
		for _, s := range subs {
			if s.queue == 0 && !s.echoes(from) {
				dst = append(dst, s)
			}
		}
		for _, pick := range picks {
			if pick.Node != l.Hash || root {
				continue
			}
			if s := l.one(subs, pick.Queue, from, false); s != nil {
				dst = append(dst, s)
			}
		}
	}
	return dst
}

// gap tells the subscriptions of some groups that messages are missing.
func (l *local) gap(g patterns.Gap, groups ...string) {
	for _, name := range groups {
		if group := l.find(name); group != nil {
			l.gapIn(group, g)
		}
	}
}

// gapIn tells those of one group. The size stays exact only if what is missing is missing
// for all of them, and nobody else on this node is sent what they are.
func (l *local) gapIn(group *group, g patterns.Gap) {
	subs, exact := group.members()
	exact = exact && l.alone(group)
	g.Exact = g.Exact && exact
	if group.root {
		g.From = ""
	}
	var o proxies
	for _, s := range subs {
		if s.proxy == nil {
			s.inbox.Gap(g)
		} else {
			o.subs = append(o.subs, s)
		}
	}
	o.each(func(o *Proxy, ids []uint64) {
		o.missed.Add(g.Missed * uint64(len(ids)))
		o.sink.Gap(g, ids)
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// local is the subscriptions on this node: finding those that a message is for.
type local struct {
	*base
	inboxes    *inbox.Set
	publishers *publishers // of the root group's forwarder

	plain match.Index[*subscription] // of patterns that begin with a word
	root  match.Index[*subscription] // of the others
	turns atomic.Uint64              // of queues

	mu     sync.Mutex
	subs   map[uint64]*subscription // guarded by mu
	groups map[string]*group        // guarded by mu

	answers answers
	abroad  *abroad // what gateways bring
}

func newLocal(b *base, set *inbox.Set, p *publishers) *local {
	l := &local{base: b, inboxes: set, publishers: p, subs: make(map[uint64]*subscription), groups: make(map[string]*group)}
	l.abroad = &abroad{base: b, local: l, all: crowd.NewTable[streamKey, peer.ID, *stream](maxStreams, b.random.IntN)}
	return l
}

// admit makes the subscription one of this node's.
func (l *local) admit(sub *subscription) error {
	if !l.enter() {
		return patterns.ErrClosed
	}
	defer l.wg.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if sub.id == 0 {
		if len(l.subs) >= l.cfg.MaxSubscriptions {
			l.drops.Inc(dropSubscriptions)
			return patterns.ErrTooMany
		}
		sub.id = l.ids.Add(1)
	}
	name, root := match.Group(sub.pattern)
	if sub.group = l.groups[name]; sub.group == nil {
		sub.group = newGroup(l, name, root)
		l.groups[name] = sub.group
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
	}
}

// all returns the groups and the subscriptions, each in a fixed order.
func (l *local) all() ([]*group, []*subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sorted(l.groups, func(g *group) string { return g.name }), sorted(l.subs, func(s *subscription) uint64 { return s.id })
}

func (l *local) count() (groups, subs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.groups), len(l.subs)
}

// asks says whether a subscription of a group asks for signatures.
func (l *local) asks(name string) bool {
	l.mu.Lock()
	g := l.groups[name]
	l.mu.Unlock()
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.wanted {
		if w.signed > 0 {
			return true
		}
	}
	return false
}

// wants says whether a subscription here is one of these.
func (l *local) wants(group string, these func(wire.Interest) bool) bool {
	l.mu.Lock()
	g := l.groups[group]
	l.mu.Unlock()
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.wanted {
		if these(wire.Interest{Pattern: k.pattern, Queue: k.queue}) {
			return true
		}
	}
	return false
}

// any says whether there are subscriptions.
func (l *local) any() bool { return l.plain.Len() > 0 || l.root.Len() > 0 }

// index is where a subscription is found.
func (l *local) index(root bool) *match.Index[*subscription] {
	if root {
		return &l.root
	}
	return &l.plain
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

// queues lists the queues here that a message is for.
func (l *local) queues(topic string, root bool, from origin) (out []wire.Interest) {
	if l.index(root).Len() == 0 {
		return nil
	}
	for _, s := range l.answer(topic).of(root) {
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
// here is for, with those that were picked of their queues.
func (l *local) published(topic string, from origin, picks []wire.Pick, dst []*subscription) []*subscription {
	a := l.answer(topic)
	for _, root := range []bool{false, true} {
		subs := a.of(root)
		for _, s := range subs {
			if s.queue == 0 && !s.echoes(from) {
				dst = append(dst, s)
			}
		}
		for _, pick := range picks {
			if pick.Node != l.hash || root {
				continue
			}
			if s := l.one(subs, pick.Queue, from, false); s != nil {
				dst = append(dst, s)
			}
		}
	}
	return dst
}

// gap tells the subscriptions of a group that messages are missing. It stays
// exact only if what is missing is missing for all of them.
func (l *local) gap(name string, g patterns.Gap) {
	l.mu.Lock()
	group := l.groups[name]
	l.mu.Unlock()
	if group == nil {
		return
	}
	subs, exact := group.members()
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

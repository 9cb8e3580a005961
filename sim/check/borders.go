// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// borders knows who can be reached at an address, in the caller's network and, of what
// gateways lend, in others. With one network it says what registrations says. Its
// caches are filled while facts are made and used by one goroutine.
type borders struct {
	h       *history.History
	lives   *lives
	members *registrations
	calm    *disturbance

	reach map[place][]int             // registrations at an address in a network
	shown map[foreign]spans           // when a node showed a lent member as alive
	lent  map[string]string           // id of a lent member → the network that it is from
	ways  map[way][]*history.Crossing // that lead from one network to an address in another
}

// place is an address as the nodes of a network use it.
type place struct{ network, address string }

// foreign is what a node sees of one other network's members at an address.
type foreign struct{ node, address, from string }

// way is from one network to an address in another.
type way struct {
	from string
	to   place
}

func newBorders(m *registrations, c *disturbance) *borders {
	b := &borders{
		h: m.h, lives: m.lives, members: m, calm: c, reach: make(map[place][]int),
		shown: make(map[foreign]spans), lent: make(map[string]string), ways: make(map[way][]*history.Crossing),
	}
	for _, seen := range lentViews(m.h, m.lives) {
		b.lent[seen.member] = seen.from
		for _, s := range seen.alive {
			b.shown[seen.foreign] = append(b.shown[seen.foreign], s)
		}
	}
	for k, list := range b.shown {
		b.shown[k] = merged(list)
	}
	return b
}

// lentView is how one life of a node saw one lent member.
type lentView struct {
	foreign
	life   int
	member string
	peer   string
	alive  []span
}

// lentViews puts what nodes saw of lent members in order.
func lentViews(h *history.History, l *lives) (all []*lentView) {
	type key struct {
		foreign
		life   int
		member string
	}
	known := make(map[key]*lentView)
	begun := make(map[key]time.Duration)
	end := func(k key, at time.Duration) {
		if from, open := begun[k]; open {
			known[k].alive = append(known[k].alive, span{from, at})
			delete(begun, k)
		}
	}
	var order []key
	for i := range h.Views {
		v := &h.Views[i]
		life := l.at(v.Node, v.At)
		if v.Network == "" || life < 0 {
			continue
		}
		k := key{foreign{v.Node, v.Cluster, v.Network}, life, v.Member}
		if known[k] == nil {
			known[k] = &lentView{foreign: k.foreign, life: life, member: v.Member, peer: v.Peer}
			order = append(order, k)
		}
		if _, open := begun[k]; alive(v.State) && !open {
			begun[k] = v.At
		} else if !alive(v.State) {
			end(k, v.At)
		}
	}
	for _, k := range order {
		end(k, l.during(k.life).until)
		all = append(all, known[k])
	}
	return all
}

// home is the network of a life.
func (b *borders) home(life int) string {
	if life < 0 {
		return ""
	}
	return b.h.Nodes[life].Network
}

// from is the network of a registration's node.
func (b *borders) from(tenure int) string {
	return b.home(b.lives.at(b.h.Tenures[tenure].Node, b.h.Tenures[tenure].Asked))
}

// split parts "geo@eu" into cluster and network.
func split(address string) (cluster, network string) {
	cluster, network, _ = strings.Cut(address, "@")
	return cluster, network
}

// betrayed says whether a gateway that is an adversary lends something to the address of a
// request: what other networks' members do for it then proves nothing, and only what is
// promised of the caller's own network is demanded.
func (b *borders) betrayed(r *history.Request) bool {
	name, network := split(r.Cluster)
	home := b.home(b.lives.at(r.Caller, r.Sent))
	return slices.ContainsFunc(b.h.Crossings, func(c history.Crossing) bool {
		return c.To == home && c.As == name && (network == "" || network == c.From) && b.lives.hostile(c.Gateway)
	})
}

// own says whether a registration is at the address in the caller's own network.
func (b *borders) own(life int, address string, tenure int) bool {
	name, network := split(address)
	return b.h.Tenures[tenure].Cluster == name && (network == "" || network == b.home(life)) && b.members.known(life, tenure)
}

// crossings are those that lend what is in one network to an address in another.
func (b *borders) crossings(from string, to place) []*history.Crossing {
	k := way{from, to}
	if known, ok := b.ways[k]; ok {
		return known
	}
	name, network := split(to.address)
	var out []*history.Crossing
	for i := range b.h.Crossings {
		c := &b.h.Crossings[i]
		if c.From == from && c.To == to.network && c.As == name && (network == "" || network == c.From) {
			out = append(out, c)
		}
	}
	b.ways[k] = out
	return out
}

// abroad says whether a registration is lent to the address in the caller's network.
func (b *borders) abroad(life int, address string, tenure int) bool {
	if len(b.h.Crossings) == 0 || life < 0 {
		return false
	}
	return slices.ContainsFunc(b.crossings(b.from(tenure), place{b.home(life), address}), func(c *history.Crossing) bool {
		return c.Cluster == b.h.Tenures[tenure].Cluster
	})
}

// all lists the registrations that a caller's life may reach at an address.
func (b *borders) all(life int, address string) []int {
	if len(b.h.Crossings) == 0 {
		return b.members.of[address]
	}
	k := place{b.home(life), address}
	if known, ok := b.reach[k]; ok {
		return known
	}
	var out []int
	for i := range b.h.Tenures {
		if t := &b.h.Tenures[i]; t.From >= 0 && (b.own(life, address, i) || b.abroad(life, address, i)) {
			out = append(out, i)
		}
	}
	b.reach[k] = out
	return out
}

// gateways are those that lend a registration to an address in the caller's network.
func (b *borders) gateways(life int, address string, tenure int) (names []string) {
	for _, c := range b.crossings(b.from(tenure), place{b.home(life), address}) {
		if c.Cluster == b.h.Tenures[tenure].Cluster {
			names = append(names, c.Gateway)
		}
	}
	return names
}

// parted says whether a fault of links, or a pause, may have parted a caller from a
// registration's node, or either from a gateway between the two.
func (b *borders) parted(r *history.Request, tenure int, s span) bool {
	if b.calm.pair(r.Caller, b.h.Tenures[tenure].Node, s) {
		return true
	}
	life := b.lives.at(r.Caller, r.Sent)
	return b.abroad(life, r.Cluster, tenure) && slices.ContainsFunc(b.gateways(life, r.Cluster, tenure), func(g string) bool {
		return b.calm.node(g, s)
	})
}

// bereft says whether a gateway between a caller and a registration ended in s.
func (b *borders) bereft(r *history.Request, tenure int, s span) bool {
	life := b.lives.at(r.Caller, r.Sent)
	if !b.abroad(life, r.Cluster, tenure) {
		return false
	}
	return slices.ContainsFunc(b.gateways(life, r.Cluster, tenure), func(g string) bool {
		return slices.ContainsFunc(b.lives.byName[g], func(life int) bool {
			until := b.h.Nodes[life].Until
			return until >= s.from && until < s.until
		})
	})
}

// linked says whether a gateway that lends a registration to an address lived all of s.
func (b *borders) linked(life int, address string, tenure int, s span) bool {
	return slices.ContainsFunc(b.gateways(life, address, tenure), func(g string) bool {
		return slices.ContainsFunc(b.lives.byName[g], func(life int) bool {
			n := &b.h.Nodes[life]
			return n.From <= s.from && (n.Until < 0 || n.Until >= s.until)
		})
	})
}

// visible says whether a caller showed, all the time, that the network of a registration
// lends to the address.
func (b *borders) visible(caller, address string, tenure int, s span) bool {
	return len(b.shown[foreign{caller, address, b.from(tenure)}].cut(s, nil)) == 0
}

// lostAnyGateway says whether one was lost, not stopped, after a time.
func (b *borders) lostAnyGateway(after time.Duration) bool {
	return slices.ContainsFunc(b.h.Crossings, func(c history.Crossing) bool {
		return slices.ContainsFunc(b.lives.byName[c.Gateway], func(life int) bool {
			return b.lives.died(life) && b.h.Nodes[life].Until >= after
		})
	})
}

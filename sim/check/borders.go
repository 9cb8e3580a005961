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

	reach map[place][]int           // registrations at an address in a network
	shown map[foreign]spans         // when a node showed a lent member as alive
	lent  map[string]string         // id of a lent member → the network that it is from
	ways  map[way][]history.Route   // of a cluster of one network to an address in another
	all   map[place][]history.Route // to an address in a network
}

// place is an address as the nodes of a network use it.
type place struct{ network, address string }

// foreign is what a node sees of one other network's members at an address.
type foreign struct{ node, address, from string }

// way is from a cluster of one network to an address in another.
type way struct {
	from, cluster string
	to            place
}

func newBorders(m *registrations, c *disturbance) *borders {
	b := &borders{
		h: m.h, lives: m.lives, members: m, calm: c, reach: make(map[place][]int),
		shown: make(map[foreign]spans), lent: make(map[string]string), ways: make(map[way][]history.Route), all: make(map[place][]history.Route),
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

// lentSeat is one lent member, as one life of a node sees it.
type lentSeat struct {
	foreign
	life   int
	member string
}

// lentView is how one life of a node saw one lent member.
type lentView struct {
	lentSeat
	peer  string
	alive []span
}

// lentViews puts what nodes saw of lent members in order.
func lentViews(h *history.History, l *lives) (all []*lentView) {
	known := make(map[lentSeat]*lentView)
	begun := make(map[lentSeat]time.Duration)
	end := func(k lentSeat, at time.Duration) {
		if from, open := begun[k]; open {
			known[k].alive = append(known[k].alive, span{from, at})
			delete(begun, k)
		}
	}
	var order []lentSeat
	for _, v := range h.Views {
		life := l.at(v.Node, v.At)
		if v.Network == "" || life < 0 {
			continue
		}
		k := lentSeat{foreign{v.Node, v.Cluster, v.Network}, life, v.Member}
		if known[k] == nil {
			known[k] = &lentView{lentSeat: k, peer: v.Peer}
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
	return slices.ContainsFunc(b.routes(place{b.home(b.lives.at(r.Caller, r.Sent)), r.Cluster}), func(way history.Route) bool {
		return slices.ContainsFunc(way.Gateways(), b.lives.hostile)
	})
}

// own says whether a registration is at the address in the caller's own network.
func (b *borders) own(life int, address string, tenure int) bool {
	name, network := split(address)
	return b.h.Tenures[tenure].Cluster == name && (network == "" || network == b.home(life)) && b.members.known(life, tenure)
}

// routes lead from other networks to an address in one.
func (b *borders) routes(to place) []history.Route {
	if known, ok := b.all[to]; ok {
		return known
	}
	name, network := split(to.address)
	out := slices.DeleteFunc(history.Routes(b.h.Crossings, to.network, name), func(r history.Route) bool {
		return network != "" && network != r[0].From
	})
	b.all[to] = out
	return out
}

// routesOf lead from a registration to an address in the network of a life.
func (b *borders) routesOf(life int, address string, tenure int) []history.Route {
	if len(b.h.Crossings) == 0 || life < 0 {
		return nil
	}
	k := way{b.from(tenure), b.h.Tenures[tenure].Cluster, place{b.home(life), address}}
	if known, ok := b.ways[k]; ok {
		return known
	}
	var out []history.Route
	for _, r := range b.routes(k.to) {
		if r[0].From == k.from && r[0].Cluster == k.cluster {
			out = append(out, r)
		}
	}
	b.ways[k] = out
	return out
}

// abroad says whether a registration is lent to the address in the caller's network.
func (b *borders) abroad(life int, address string, tenure int) bool {
	return len(b.routesOf(life, address, tenure)) > 0
}

// passesOn says whether a message may come to a registration across several borders.
func (b *borders) passesOn(life int, address string, tenure int) bool {
	return slices.ContainsFunc(b.routesOf(life, address, tenure), func(r history.Route) bool { return len(r) > 1 })
}

// everybody lists the registrations that a caller's life may reach at an address.
func (b *borders) everybody(life int, address string) []int {
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

// gateways are those through which a message may come from the caller's network to a
// registration.
func (b *borders) gateways(life int, address string, tenure int) (names []string) {
	for _, r := range b.routesOf(life, address, tenure) {
		names = append(names, r.Gateways()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// parted says whether a fault of links, or a pause, may have parted a caller from a
// registration's node, or either from a gateway between the two.
func (b *borders) parted(r *history.Request, tenure int, s span) bool {
	if b.calm.pair(r.Caller, b.h.Tenures[tenure].Node, s) {
		return true
	}
	life := b.lives.at(r.Caller, r.Sent)
	if !b.abroad(life, r.Cluster, tenure) {
		return false
	}
	between := b.gateways(life, r.Cluster, tenure)
	ends := append([]string{r.Caller, b.h.Tenures[tenure].Node}, between...)
	return slices.ContainsFunc(between, func(g string) bool {
		return b.calm.node(g, s) || slices.ContainsFunc(ends, func(end string) bool { return b.calm.linkHit(g, end, true, s) })
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

// linked says whether gateways that lend a registration to an address lived all of s, at
// each border of one of the ways there.
func (b *borders) linked(life int, address string, tenure int, s span) bool {
	return slices.ContainsFunc(b.routesOf(life, address, tenure), func(r history.Route) bool { return b.open(r, s) })
}

// open says whether gateways lived all of s at each border of a route.
func (b *borders) open(r history.Route, s span) bool {
	return !slices.ContainsFunc(r, func(x history.Border) bool {
		return !slices.ContainsFunc(x.Gateways, func(g string) bool { return b.lived(g, s) })
	})
}

// lived says whether one life of a gateway lasted all of s.
func (b *borders) lived(gateway string, s span) bool {
	return slices.ContainsFunc(b.lives.byName[gateway], func(life int) bool {
		n := &b.h.Nodes[life]
		return n.From <= s.from && (n.Until < 0 || n.Until >= s.until)
	})
}

// visible says whether a caller showed, all the time, that the network of a registration
// lends to the address.
func (b *borders) visible(caller, address string, tenure int, s span) bool {
	return len(b.shown[foreign{caller, address, b.from(tenure)}].cut(s, nil)) == 0
}

// livesOf is when a gateway lived; who is alive in the end lives on.
func (b *borders) livesOf(gateway string) (up []span) {
	for _, life := range b.lives.byName[gateway] {
		s := b.lives.during(life)
		if b.h.Nodes[life].Until < 0 {
			s.until = forever
		}
		up = append(up, s)
	}
	return up
}

// lostAnyGateway says whether one was lost, not stopped, after a time.
func (b *borders) lostAnyGateway(after time.Duration) bool {
	return slices.ContainsFunc(b.h.Crossings, func(c history.Crossing) bool {
		return slices.ContainsFunc(b.lives.byName[c.Gateway], func(life int) bool {
			return b.lives.died(life) && b.h.Nodes[life].Until >= after
		})
	})
}

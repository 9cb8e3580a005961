// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkLent: nobody who is undisturbed shows for long that a network lends something when
// the gateway has ended that lent it, or what led to that; and after the last fault every
// correct observer shows one lent member for each correct gateway that has something to
// lend.
func checkLent(b *borders, d *violations) {
	if len(b.h.Crossings) == 0 {
		return
	}
	x := loans{b}
	for _, v := range lentViews(b.h, b.lives) {
		gateway := x.gatewayOf(v.peer)
		routes := x.routesBy(v, gateway)
		switch {
		case len(v.alive) == 0:
		case len(routes) > 0:
			x.ghosts(v, gateway, routes, d)
		case !b.lives.adversary(v.peer) && !b.lives.hostile(gateway):
			d.add(v.alive[0].from, "%s, observing %s, showed the member %s of the network %s, which no gateway lends", v.node, v.address, v.member, v.from)
		}
	}
	x.absent(d)
}

// loans are what networks lend, as nodes see it.
type loans struct{ *borders }

// gatewayOf is the gateway that has a peer id; "" = none has. A gateway that comes back
// has the same ids.
func (b loans) gatewayOf(peer string) string {
	for i := range b.h.Nodes {
		for _, id := range b.h.Nodes[i].Gateway {
			if id == peer {
				return b.h.Nodes[i].Name
			}
		}
	}
	return ""
}

// routesBy are those by which a gateway may lend what was seen.
func (b loans) routesBy(v *lentView, gateway string) (out []history.Route) {
	for _, r := range b.routes(place{b.home(v.life), v.address}) {
		if r[0].From == v.from && slices.Contains(r.Lenders(), gateway) {
			out = append(out, r)
		}
	}
	return out
}

// ghosts reports when a lent member was shown although its gateway was gone, or had
// nothing to lend: no member was left, or no gateway at a border on the way. What has
// ended is forgotten at one border after the other.
func (b loans) ghosts(v *lentView, gateway string, routes []history.Route, d *violations) {
	lived := merged(b.livesOf(gateway))
	var led []span
	borders := 1
	var others []string
	for _, r := range routes {
		led = append(led, b.led(r, lived)...)
		borders = max(borders, len(r))
		others = append(others, r.Gateways()...)
	}
	open := merged(led)
	for _, shown := range v.alive {
		b.shownTooLong(v, lived.cut(shown, nil), 1, others, "the dead gateway "+gateway, d)
		for _, alive := range intersection(lived, spans{shown}) {
			b.shownTooLong(v, open.cut(alive, nil), borders, others, gateway+", to which nothing of the network "+v.from+" led", d)
		}
	}
}

// led is when a route had a member at its beginning, and a gateway at each border, of
// which the last one lived as given.
func (b loans) led(r history.Route, last spans) spans {
	open := last
	for _, l := range r[:len(r)-1] {
		var up []span
		for _, g := range l.Gateways {
			up = append(up, b.livesOf(g)...)
		}
		open = intersection(open, merged(up))
	}
	var out []span
	none := b.outages(place{r[0].From, r[0].Cluster})
	for _, s := range open {
		out = none.cut(s, out)
	}
	return out
}

// intersection is when both are.
func intersection(a, b spans) (out spans) {
	for _, s := range a {
		out = spans(b.cut(s, nil)).cut(s, out)
	}
	return out
}

// shownTooLong reports when a lent member was shown for longer than the dead may be, of
// which so many borders had to hear.
func (b loans) shownTooLong(v *lentView, wrong []span, borders int, through []string, by string, d *violations) {
	for _, s := range wrong {
		parts := b.calm.excused(v.node, v.node, s, nil)
		for _, g := range through {
			var left []span
			for _, part := range parts {
				left = b.calm.excused(g, v.node, part, left)
			}
			parts = left
		}
		for _, part := range parts {
			if part.length() > time.Duration(borders)*b.calm.rules.Zombie {
				d.add(part.from, "%s, observing %s, took the member lent by %s to be alive for %v", v.node, v.address, by, part.length())
			}
		}
	}
}

// absent reports what is lent in the end and correct observers don't show.
func (b loans) absent(d *violations) {
	news := plus(b.calm.last, b.calm.rules.Converge)
	if news >= b.h.End {
		return
	}
	calm := span{news, b.h.End}
	watchers := make(map[foreign]int) // who asked in the end, and how many it must show
	for i := range b.h.Requests {
		r := &b.h.Requests[i]
		life := b.lives.at(r.Caller, r.Sent)
		if life < 0 || !b.h.Nodes[life].Correct || r.Sent < minus(b.h.End, interest) {
			continue
		}
		for _, way := range b.routes(place{b.home(life), r.Cluster}) {
			k := foreign{r.Caller, r.Cluster, way[0].From}
			if _, known := watchers[k]; !known {
				watchers[k] = b.lending(life, r.Cluster, way[0].From, calm)
			}
		}
	}
	shown := make(map[foreign]int)
	for _, v := range lentViews(b.h, b.lives) {
		if n := len(v.alive); n > 0 && v.alive[n-1].until >= b.h.End {
			shown[v.foreign]++
		}
	}
	for k, want := range watchers {
		if shown[k] < want {
			d.add(b.h.End, "%s, observing %s, shows %d members lent by the network %s in the end; %d gateways lend them", k.node, k.address, shown[k], k.from, want)
		}
	}
}

// lending counts the gateways that lived all of s and had something of a network to lend
// to the address.
func (b loans) lending(life int, address, from string, s span) int {
	up := slices.DeleteFunc(slices.Clone(b.h.Crossings), func(c history.Crossing) bool { return !b.lived(c.Gateway, span{s.from, forever}) })
	names := make(map[string]bool)
	for _, tenure := range b.everybody(life, address) {
		t := truth(&b.h.Tenures[tenure])
		if b.from(tenure) != from || from == b.home(life) || t.from > s.from || t.until < s.until {
			continue
		}
		for _, r := range b.routesOf(life, address, tenure) {
			if !b.open(r, span{s.from, forever}) || !r.Told(up) {
				continue
			}
			for _, g := range r.Lenders() {
				if b.lived(g, span{s.from, forever}) && b.calm.met(life, b.lives.at(g, s.from), s.from) <= s.from {
					names[g] = true
				}
			}
		}
	}
	return len(names)
}

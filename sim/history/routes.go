// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "slices"

// Border is one that a route crosses, and everybody who carries one cluster over it.
type Border struct {
	From, To    string // networks
	Cluster, As string // what it is called in From and in To
	Gateways    []string
}

// Route is how members of a network are lent to an address in another one: by the
// gateways at its first border, and lent on by those at each other one, which have
// transit. It comes through no network twice.
type Route []Border

// MaxNetworks is how many networks lent members have come through at most: as many as a
// record has room for.
const MaxNetworks = 8

// Routes lists the ways by which members of other networks are lent to the nodes of a
// network under a name, whatever the networks are, the shortest first. The caller owns
// the result.
func Routes(crossings []Crossing, to, name string) []Route {
	var out []Route
	for next := onward(crossings, to, name, nil); len(next) > 0; {
		out = append(out, next...)
		var longer []Route
		for _, r := range next {
			if len(r) < MaxNetworks && len(lendOn(crossings, r[0])) > 0 {
				onto := append(Route{r[0]}, r[1:]...)
				onto[0].Gateways = lendOn(crossings, r[0])
				longer = append(longer, onward(crossings, r[0].From, r[0].Cluster, onto)...)
			}
		}
		next = longer
	}
	return out
}

// onward puts each border that leads to a name in a network before a route.
func onward(crossings []Crossing, to, name string, route Route) (out []Route) {
	for _, c := range crossings {
		if c.To != to || c.As != name || c.Topic != "" || c.From == to || route.passes(c.From) {
			continue
		}
		at := Border{From: c.From, To: to, Cluster: c.Cluster, As: name}
		known := slices.IndexFunc(out, func(r Route) bool { return r[0].From == at.From && r[0].Cluster == at.Cluster })
		if known < 0 {
			known, out = len(out), append(out, append(Route{at}, route...))
		}
		out[known][0].Gateways = append(out[known][0].Gateways, c.Gateway)
	}
	return out
}

// lendOn are the gateways at a border that lend on what others lend.
func lendOn(crossings []Crossing, at Border) (names []string) {
	for _, c := range crossings {
		if c.Transit && c.Topic == "" && c.From == at.From && c.To == at.To && c.Cluster == at.Cluster && c.As == at.As {
			names = append(names, c.Gateway)
		}
	}
	return names
}

// passes says whether a route comes through a network.
func (r Route) passes(network string) bool {
	return slices.ContainsFunc(r, func(x Border) bool { return x.From == network || x.To == network })
}

// Gateways are all that a message on the route may go through.
func (r Route) Gateways() (names []string) {
	for _, l := range r {
		names = append(names, l.Gateways...)
	}
	return names
}

// Lenders are the gateways whose members the nodes at its end see.
func (r Route) Lenders() []string { return r[len(r)-1].Gateways }

// Told says whether the nodes at a route's end certainly hear of it: a gateway that lends
// on tells only of the shortest way that it knows, among those that do not come from
// where it lends to.
func (r Route) Told(crossings []Crossing) bool {
	for i := 1; i < len(r); i++ {
		as := 0 // ways that are as short
		for _, other := range Routes(crossings, r[i].From, r[i].Cluster) {
			if other[0].From == r[0].From && other[0].Cluster == r[0].Cluster && len(other) <= i && !other.passes(r[i].To) {
				as++
			}
		}
		if as != 1 {
			return false
		}
	}
	return true
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxSkew is how far a clock may be off.
const maxSkew = Duration(366 * 24 * time.Hour)

func (c *checker) action(path string, a Action) {
	switch {
	case a.At < 0:
		c.add(path+".at", "%v is negative", a.At)
	case a.At > c.s.Duration && c.s.Duration > 0:
		c.add(path+".at", "%v is after the end at %v", a.At, c.s.Duration)
	}
	info, ok := actionInfo(a.Do)
	switch {
	case a.Do == "":
		c.add(path, "needs do: what happens")
		return
	case !ok:
		c.word(path+".do", "action", a.Do, actionNames())
		return
	}
	c.fields(path, a, info)
	c.selectors(path+".nodes", a.Nodes)
	c.nodesOnly(path+".nodes", a.Do, a.Nodes)
	if a.Do == "rotate" || a.Do == "ban" {
		noGateways(c, path+".nodes", "has keys of several networks, which no action changes yet", a.Nodes)
	}
	c.values(path, a)
	if len(a.Between) > 0 {
		c.between(path+".between", a)
	}
}

// fields checks that an action has the fields it needs and no other.
func (c *checker) fields(path string, a Action, info ActionInfo) {
	given := a.given()
	var known []string
	c.repetition(path, a, info)
	for _, needs := range info.Needs {
		choice := strings.Split(needs, " or ")
		known = append(known, choice...)
		if n := count(choice, given); n == 0 {
			c.add(path, "%s needs %s", a.Do, needs)
		} else if n > 1 {
			c.add(path, "%s takes %s, not both", a.Do, needs)
		}
	}
	for _, takes := range info.Takes {
		choice := strings.Split(takes, " or ")
		known = append(known, choice...)
		if count(choice, given) > 1 {
			c.add(path, "%s takes %s, not both", a.Do, takes)
		}
	}
	if len(info.Needs) > 0 && (repeatable(info) || a.Times != 0) { // repetition says what else is wrong with it
		known = append(known, "times", "every")
	}
	for _, f := range given {
		if !slices.Contains(known, f) {
			c.add(path+"."+f, "%s does not take it; it takes %s", a.Do, orNothing(known))
		}
	}
}

// repeatable says whether an action may have times: it has no other use for every.
func repeatable(info ActionInfo) bool {
	return !slices.Contains(info.Needs, "every") && !slices.Contains(info.Takes, "every") && len(info.Needs) > 0 && info.Name != "churn"
}

// repetition checks how often an action happens.
func (c *checker) repetition(path string, a Action, info ActionInfo) {
	c.number(path+".times", a.Times, 1, MaxActions)
	switch {
	case !repeatable(info):
		if a.Times != 0 && len(info.Needs) > 0 {
			c.add(path+".times", "%s repeats something by itself; write it down several times", a.Do)
		}
	case a.Times == 0 && a.Every != 0:
		c.add(path+".every", "says nothing without times: how often it happens")
	case a.Times > 1 && a.Every <= 0:
		c.add(path+".times", "needs every: how long after each other")
	case a.Times > 1 && a.For+a.Down >= a.Every && a.For+a.Down > 0:
		c.add(path+".every", "%v is not longer than what it repeats, which takes %v", a.Every, a.For+a.Down)
	case a.Times > 1 && c.s.Duration > 0 && a.Every > 0 && (c.s.Duration-a.At)/a.Every < Duration(a.Times-1):
		c.add(path+".times", "the last of %d would be after the end at %v", a.Times, c.s.Duration)
	}
}

func orNothing(fields []string) string {
	if len(fields) == 0 {
		return "nothing"
	}
	return strings.Join(fields, ", ")
}

func count(names, in []string) int {
	n := 0
	for _, name := range names {
		if slices.Contains(in, name) {
			n++
		}
	}
	return n
}

// values checks the fields that are numbers, times or words.
func (c *checker) values(path string, a Action) {
	c.span(path+".for", a.For)
	c.span(path+".every", a.Every)
	c.span(path+".down", a.Down)
	c.number(path+".factor", a.Factor, 1, 1_000_000)
	if a.Offset > maxSkew || a.Offset < -maxSkew {
		c.add(path+".offset", "%v is more than a year", a.Offset)
	}
	if a.Drift > 100_000 || a.Drift < -100_000 {
		c.add(path+".drift", "%d is not between -100000 and 100000 parts per million", a.Drift)
	}
	if a.Share > Whole {
		c.add(path+".share", "%v is more than everything", a.Share)
	}
	if a.Do == "attack" && ofGateways(a.Mode) {
		names, _ := c.index.Select(a.Nodes...)
		for _, name := range slices.DeleteFunc(names, c.index.isGateway) {
			c.add(path+".nodes", "%s is no gateway: it can't %s", name, a.Mode)
		}
	}
	if a.Identity != "" {
		c.word(path+".identity", "identity", a.Identity, []string{"new"})
		c.reborn(path+".identity", a)
	}
	if a.Mode != "" {
		if field, why := badMode(a, c.s.Clusters); why != "" {
			c.add(path+field, "%s", why)
		}
	}
	if why := badRotation(a, c.s.Clusters); a.Do == "rotate" && why != "" {
		c.add(path+".on", "%s", why)
	}
	if why := badRevocation(c.s.Nodes); a.Do == "revoke" && len(a.Nodes) > 0 && why != "" {
		c.add(path, "%s", why)
	}
	if a.Link != nil {
		if len(a.Link.Between) > 0 {
			c.add(path+".link.between", "belongs to the action")
		}
		if a.Link.OneWay {
			c.add(path+".link.one_way", "degrade replaces both directions; say one_way in links, or cut one direction with partition-oneway")
		}
		c.link(path+".link", *a.Link)
	}
	if a.Work != nil {
		c.work(path+".work", *a.Work)
		if a.Work.Start != 0 || a.Work.Stop != 0 && a.Work.Stop != a.For {
			c.add(path+".work", "a flood starts at its own time and stops after for; leave start and stop out")
		}
	}
	if at := a.At + a.For; a.Do != "" && a.At >= 0 && a.For > 0 && at > c.s.Duration && c.s.Duration > 0 {
		c.add(path+".for", "it would end at %v, after the end at %v", at, c.s.Duration)
	}
}

// reborn checks that nodes can come back as other peers.
func (c *checker) reborn(path string, a Action) {
	if a.Do != "restart" && a.For+a.Down == 0 {
		c.add(path, "is about the return: give for or down, or give it to the restart")
	}
	names, _ := c.index.Select(a.Nodes...)
	for _, name := range names {
		group, _, _ := c.index.Group(name)
		switch {
		case c.index.Relay(name) != "":
			c.add(path, "%s is a client: it has the identity of its relay", name)
		case c.index.isGateway(name) || group.Near != "" || group.Certificate != "":
			c.add(path, "%s can't have another: gateways, and nodes with near or a certificate, have chosen ones", name)
		}
	}
}

func routerModes() []string { return []string{"slow", "stale", "wrong"} }

// between checks the two sides of an action on links.
func (c *checker) between(path string, a Action) {
	if len(a.Between) != 2 {
		c.add(path, "has %d sides, but %s is between two", len(a.Between), a.Do)
		return
	}
	var sides [2][]string
	for i, side := range a.Between {
		if len(side) == 0 {
			c.add(fmt.Sprintf("%s[%d]", path, i), "names nobody")
			return
		}
		before := len(c.problems)
		c.selectors(fmt.Sprintf("%s[%d]", path, i), side)
		if len(c.problems) > before {
			return
		}
		c.nodesOnly(fmt.Sprintf("%s[%d]", path, i), a.Do, side)
		sides[i], _ = c.index.Select(side...)
	}
	if a.Do != "partition" && a.Do != "partition-oneway" {
		return
	}
	if both := common(sides[0], sides[1]); both != "" {
		c.add(path, "%s is on both sides", both)
	}
}

// common returns the first name that is in both lists, or "".
func common(a, b []string) string {
	in := setOf(a)
	if i := slices.IndexFunc(b, func(name string) bool { return in[name] }); i >= 0 {
		return b[i]
	}
	return ""
}

// Relay returns the node to which a client is attached; "" for a node. The
// clients of a group attach to the nodes of theirs in turn.
func (x *Index) Relay(name string) string {
	group, before, ok := x.Group(name)
	if !ok || group.Attach == "" {
		return ""
	}
	relays, err := x.Select(group.Attach)
	if err != nil {
		return ""
	}
	return relays[before%len(relays)]
}

// Clients returns the clients that attach to a node, in the order of the file.
func (x *Index) Clients(relay string) []string {
	var all []string
	for _, g := range x.nodes {
		if g.Attach == "" {
			continue
		}
		for _, name := range g.Names() {
			if x.Relay(name) == relay {
				all = append(all, name)
			}
		}
	}
	return all
}

// withoutClients leaves the clients out of a list.
func (x *Index) withoutClients(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return x.Relay(name) != "" })
}

// simOnly says whether a scenario has something that only level sim can do.
func simOnly(s Scenario) bool {
	return slices.ContainsFunc(s.Nodes, func(g Nodes) bool { return g.Attach != "" }) ||
		slices.ContainsFunc(groups(s), func(g Nodes) bool { return g.Near != "" || g.Prefix != "" || g.Certificate != "" }) ||
		slices.ContainsFunc(s.Timeline, func(a Action) bool {
			return a.Do == "move" || a.Identity != "" || a.Do == "break" || a.Do == "attack" || a.Do == "rotate" || a.Do == "ban" || a.Do == "revoke"
		})
}

// clients checks the groups of clients.
func (c *checker) clients() {
	for i, g := range c.s.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		if g.Attach == "" {
			c.seeds(path+".seeds", g)
			if g.Token != "" {
				c.add(path+".token", "only clients have one")
			}
			continue
		}
		relays, err := c.index.Select(g.Attach)
		if err != nil {
			c.add(path+".attach", "%v", err)
			continue
		}
		noGateways(c, path+".attach", "takes no programs", []string{g.Attach})
		for _, relay := range relays {
			if group, _, _ := c.index.Group(relay); group.Attach != "" {
				c.add(path+".attach", "%s is a client itself; clients attach to nodes", relay)
				break
			}
		}
		if g.Zone != "" || g.Key != "" || g.Prefix != "" || g.Network != "" {
			c.add(path, "a client has the network, the zone, the address and the keys of its relay: leave network, zone, prefix and key out")
		}
		if len(g.Seeds) > 0 {
			c.add(path+".seeds", "a client joins nothing by itself; its relay has seeds")
		}
		if g.Policy != "" {
			c.add(path+".policy", "only nodes have one: it is about their clients")
		}
	}
	for i, l := range c.s.Levels {
		if simOnly(c.s) && l != Levels()[0] {
			c.add(fmt.Sprintf("levels[%d]", i), "clients, adversaries, prefixes, keys that change, certificates, connections that break, nodes that move or come back with another identity, are at level %s only", Levels()[0])
		}
	}
}

// seeds checks whom nodes dial to join.
func (c *checker) seeds(path string, g Nodes) {
	c.selectors(path, g.Seeds)
	noGateways(c, path, "lends, and is nobody's seed", g.Seeds)
	names, _ := c.index.Select(g.Seeds...)
	for _, name := range names {
		if seed, _, _ := c.index.Group(name); seed.Attach != "" || seed.Network != g.Network {
			c.add(path, "%s can't be a seed: it is a client, or in another network", name)
		}
	}
}

// ofNetwork are the actions on what a client has not got: links, a clock and
// neighbours of its own.
func ofNetwork(do string) bool {
	return slices.Contains([]string{
		"cut", "mend", "clog", "unclog", "degrade", "corrupt", "partition", "partition-oneway", "swizzle", "skew", "router", "attack", "rotate", "ban", "move",
	}, do)
}

// nodesOnly checks that an action on the network hits more than clients.
func (c *checker) nodesOnly(path, do string, selectors []string) {
	names, err := c.index.Select(selectors...)
	if err == nil && ofNetwork(do) && len(names) > 0 && len(c.index.withoutClients(names)) == 0 {
		c.add(path, "%s is a client: it has no links and no clock of its own; name its relay", names[0])
	}
	if do != "silence" || err != nil {
		return
	}
	for _, name := range names {
		if relay := c.index.Relay(name); relay != "" && !slices.Contains(names, relay) && !silenced(c.s.Timeline, c.index, relay) {
			c.add(path, "%s is a client: it loses its power with its relay only; crash it, or name %s", name, relay)
		}
	}
}

// silenced says whether some action silences a node.
func silenced(timeline []Action, index *Index, name string) bool {
	return slices.ContainsFunc(timeline, func(a Action) bool {
		names, _ := index.Select(a.Nodes...)
		return a.Do == "silence" && slices.Contains(names, name)
	})
}

// powerless are the nodes of an action that cuts the power, and the clients on
// their machines which no action of that time names.
func (x *expander) powerless(a Action) []string {
	nodes := x.pick(a.Nodes)
	named := slices.Clone(nodes)
	for _, other := range x.s.Timeline {
		if other.Do == a.Do && other.At == a.At {
			named = append(named, x.pick(other.Nodes)...)
		}
	}
	for _, relay := range x.index.withoutClients(nodes) {
		for _, client := range x.index.Clients(relay) {
			if !slices.Contains(named, client) {
				nodes = append(nodes, client)
			}
		}
	}
	return nodes
}

// breaks resets connections, once or every so long.
func (x *expander) breaks(path string, a Action) {
	for at := a.At; ; at += a.Every {
		x.put(path, false, Action{At: at, Do: "break", Between: [][]string{x.pick(a.Between[0]), x.pick(a.Between[1])}})
		if a.Every == 0 || at+a.Every > a.At+a.For || len(x.steps) > MaxActions {
			return
		}
	}
}

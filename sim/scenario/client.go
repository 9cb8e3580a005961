// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
)

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
func (s Scenario) simOnly() bool {
	return slices.ContainsFunc(s.Nodes, func(g Nodes) bool { return g.Attach != "" }) ||
		slices.ContainsFunc(s.Timeline, func(a Action) bool { return a.Do == "break" })
}

// clients checks the groups of clients.
func (c *checker) clients() {
	for i, g := range c.s.Nodes {
		if g.Attach == "" {
			continue
		}
		path := fmt.Sprintf("nodes[%d]", i)
		relays, err := c.index.Select(g.Attach)
		if err != nil {
			c.add(path+".attach", "%v", err)
			continue
		}
		for _, relay := range relays {
			if group, _, _ := c.index.Group(relay); group.Attach != "" {
				c.add(path+".attach", "%s is a client itself; clients attach to nodes", relay)
				break
			}
		}
		if g.Zone != "" || g.Key != "" {
			c.add(path, "a client has the zone and the keys of its relay: leave zone and key out")
		}
	}
	for i, l := range c.s.Levels {
		if c.s.simOnly() && l != Levels()[0] {
			c.add(fmt.Sprintf("levels[%d]", i), "clients, and connections that break, are at level %s only", Levels()[0])
		}
	}
}

// ofNetwork are the actions on what a client has not got: links, a clock and
// neighbours of its own.
func ofNetwork(do string) bool {
	return slices.Contains([]string{
		"cut", "mend", "clog", "unclog", "degrade", "corrupt", "partition", "partition-oneway", "swizzle", "skew", "router",
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
		if relay := c.index.Relay(name); relay != "" && !slices.Contains(names, relay) && !c.silenced(relay) {
			c.add(path, "%s is a client: it loses its power with its relay only; crash it, or name %s", name, relay)
		}
	}
}

// silenced says whether some action silences a node.
func (c *checker) silenced(name string) bool {
	return slices.ContainsFunc(c.s.Timeline, func(a Action) bool {
		names, _ := c.index.Select(a.Nodes...)
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

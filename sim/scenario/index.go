// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Index answers who the nodes of a scenario are. It is immutable and may be
// used by several goroutines.
type Index struct {
	names    []string         // in the order of the file
	at       map[string]int   // node → position in names
	group    []int            // position → group
	groups   map[string][]int // group → positions
	zones    map[string][]int // zone → positions
	nodes    []Nodes          // those of gateways last
	gateways []Gateway
	networks map[string][]int // network → positions, without gateways
	links    []Link
	ends     [][2]map[string]bool // who is at the ends of each link
}

// NewIndex indexes the nodes and links of a scenario. Selectors of links that
// select nobody are ignored; Parse reports them.
func NewIndex(s Scenario) *Index {
	x := &Index{
		at:       map[string]int{},
		groups:   map[string][]int{},
		zones:    map[string][]int{},
		nodes:    groups(s),
		gateways: s.Gateways,
		networks: map[string][]int{},
		links:    s.Links,
	}
	for g, nodes := range x.nodes {
		for _, name := range nodes.Names() {
			pos := len(x.names)
			x.names = append(x.names, name)
			x.at[name] = pos
			x.group = append(x.group, g)
			x.groups[nodes.Name] = append(x.groups[nodes.Name], pos)
			if nodes.Zone != "" {
				x.zones[nodes.Zone] = append(x.zones[nodes.Zone], pos)
			}
			if nodes.Network != "" {
				x.networks[nodes.Network] = append(x.networks[nodes.Network], pos)
			}
		}
	}
	for _, l := range s.Links {
		var ends [2]map[string]bool
		for i := 0; i < 2 && i < len(l.Between); i++ {
			found, _ := x.Select(l.Between[i])
			ends[i] = setOf(found)
		}
		x.ends = append(x.ends, ends)
	}
	return x
}

func setOf(names []string) map[string]bool {
	in := make(map[string]bool, len(names))
	for _, name := range names {
		in[name] = true
	}
	return in
}

// Names returns the names of the nodes of a group.
func (n Nodes) Names() []string {
	if n.Count == 0 {
		return []string{n.Name}
	}
	names := make([]string, 0, max(n.Count, 0))
	for i := 1; i <= n.Count; i++ {
		names = append(names, n.Name+strconv.Itoa(i))
	}
	return names
}

// Names returns the names of all nodes in the order of the file. The slice is
// the index's own.
func (x *Index) Names() []string { return x.names }

// Group returns the group that a node belongs to, and how many of its nodes
// come before it.
func (x *Index) Group(node string) (group Nodes, before int, ok bool) {
	pos, ok := x.at[node]
	if !ok {
		return Nodes{}, 0, false
	}
	group = x.nodes[x.group[pos]]
	return group, pos - x.groups[group.Name][0], true
}

// Starts returns when a node starts first.
func (x *Index) Starts(node string) Duration {
	group, before, _ := x.Group(node)
	return group.Start + Duration(before)*group.Every
}

// Select returns the nodes that the selectors stand for, each once, in the
// order of the file. A selector is the name of a node, the name of a group,
// "zone:x", "network:x" for its nodes without the gateways, or "*" for everybody; it is
// an error if it selects nobody.
func (x *Index) Select(selectors ...string) ([]string, error) {
	chosen := make([]bool, len(x.names))
	for _, selector := range selectors {
		found, err := x.find(selector)
		if err != nil {
			return nil, err
		}
		for _, pos := range found {
			chosen[pos] = true
		}
	}
	var names []string
	for pos, ok := range chosen {
		if ok {
			names = append(names, x.names[pos])
		}
	}
	return names, nil
}

func (x *Index) find(selector string) ([]int, error) {
	if selector == "*" {
		all := make([]int, len(x.names))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	for _, in := range []struct {
		what  string
		nodes map[string][]int
	}{{"zone", x.zones}, {"network", x.networks}} {
		name, ok := strings.CutPrefix(selector, in.what+":")
		if found := in.nodes[name]; ok && len(found) > 0 {
			return found, nil
		}
		if ok {
			return nil, fmt.Errorf("no node is in %s %q%s", in.what, short(name), hint(name, sortedKeys(in.nodes)))
		}
	}
	if pos, ok := x.at[selector]; ok {
		return []int{pos}, nil
	}
	if found := x.groups[selector]; len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("no node or group is called %q%s", short(selector), hint(selector, x.known()))
}

// Link returns the model of the link from one node to another: the first that fits, in
// either order unless it is one-way. ok is false if the file has none; the defaults apply.
func (x *Index) Link(a, b string) (link Link, ok bool) {
	if i := x.link(a, b); i >= 0 {
		return x.links[i], true
	}
	return Link{}, false
}

func (x *Index) link(a, b string) int {
	for i, ends := range x.ends {
		if ends[0][a] && ends[1][b] || ends[0][b] && ends[1][a] && !x.links[i].OneWay {
			return i
		}
	}
	return -1
}

// known are the names a selector may be, groups first.
func (x *Index) known() []string {
	var names []string
	for _, n := range x.nodes {
		names = append(names, n.Name)
	}
	for _, name := range x.names {
		if len(x.groups[name]) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// Gateway returns the group of a gateway; false for a node.
func (x *Index) Gateway(name string) (Gateway, bool) {
	pos, ok := x.at[name]
	if !ok || x.group[pos] < len(x.nodes)-len(x.gateways) {
		return Gateway{}, false
	}
	return x.gateways[x.group[pos]-(len(x.nodes)-len(x.gateways))], true
}

// withoutGateways leaves the gateways out of a list.
func (x *Index) withoutGateways(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), x.isGateway)
}

func (x *Index) isGateway(name string) bool {
	_, is := x.Gateway(name)
	return is
}

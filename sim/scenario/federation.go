// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
)

// Gateway is a group of gateways with the same configuration, which are called like
// nodes of a group. Each is one program with a node in every network that its crossings
// name; what happens to it happens to all of these.
type Gateway struct {
	Name  string   `yaml:"name" json:"name"`
	Count int      `yaml:"count,omitempty" json:"count,omitempty"`
	Start Duration `yaml:"start,omitempty" json:"start,omitempty"` // when the first one starts
	Every Duration `yaml:"every,omitempty" json:"every,omitempty"` // between two of them; default: all at once
	Near  string   `yaml:"near,omitempty" json:"near,omitempty"`   // a cluster: the ids of their nodes are chosen so that they anchor it, in each network
	Lend  []Lend   `yaml:"lend" json:"lend"`
}

// Lend is one cluster, or topics, of one network that gateways lend to another one. Zero
// values are the defaults of package gateway.
type Lend struct {
	Cluster  string `yaml:"cluster,omitempty" json:"cluster,omitempty"`
	Topic    string `yaml:"topic,omitempty" json:"topic,omitempty"` // a pattern, in place of a cluster
	From     string `yaml:"from" json:"from"`                       // networks
	To       string `yaml:"to" json:"to"`
	As       string `yaml:"as,omitempty" json:"as,omitempty"` // what it, or the first word of the topics, is called in To; default: the same
	Priority int    `yaml:"priority,omitempty" json:"priority,omitempty"`
	Transit  bool   `yaml:"transit,omitempty" json:"transit,omitempty"` // it lends on what others lend From, too
	Messages int    `yaml:"messages_per_second,omitempty" json:"messages_per_second,omitempty"`
	Bytes    Bytes  `yaml:"bytes_per_second,omitempty" json:"bytes_per_second,omitempty"`
	InFlight int    `yaml:"in_flight,omitempty" json:"in_flight,omitempty"`
	Tunnels  int    `yaml:"tunnels,omitempty" json:"tunnels,omitempty"`
}

// Called is what the cluster, or the first word of the topics, is called where it is lent
// to.
func (l Lend) Called() string {
	word, _, _ := strings.Cut(l.Topic, ".")
	return cmp.Or(l.As, word, l.Cluster)
}

// Networks are those that a gateway has a node in, in the order in which its crossings
// name them.
func (g Gateway) Networks() []string {
	var all []string
	for _, l := range g.Lend {
		for _, n := range []string{l.From, l.To} {
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// Names returns the names of the gateways of a group.
func (g Gateway) Names() []string { return g.group().Names() }

// group is the gateways as nodes: they have names and start.
func (g Gateway) group() Nodes {
	return Nodes{Name: g.Name, Count: g.Count, Start: g.Start, Every: g.Every, Near: g.Near}
}

// groups are all that have names: those of nodes, then those of gateways.
func groups(s Scenario) []Nodes {
	all := slices.Clone(s.Nodes)
	for _, g := range s.Gateways {
		all = append(all, g.group())
	}
	return all
}

// groupPath is where a file has the group with that index in groups.
func groupPath(s Scenario, i int) string {
	if i < len(s.Nodes) {
		return fmt.Sprintf("nodes[%d]", i)
	}
	return fmt.Sprintf("gateways[%d]", i-len(s.Nodes))
}

// SplitAddress splits "geo@eu" into cluster and network; the latter is "" where an
// address has none.
func SplitAddress(address string) (cluster, network string) {
	cluster, network, _ = strings.Cut(address, "@")
	return cluster, network
}

// checkNetworks checks the list of networks, and that each node is in one.
func checkNetworks(c *checker) {
	for i, n := range c.s.Networks {
		path := fmt.Sprintf("networks[%d]", i)
		if c.name(path, n) && slices.Index(c.s.Networks, n) < i {
			c.add(path, "%q is given twice", n)
		}
	}
	for i, g := range c.s.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		switch {
		case g.Network != "":
			checkNetwork(c, path+".network", g.Network)
		case len(c.s.Networks) > 0 && g.Attach == "":
			c.add(path, "needs network: which of %s it is in", strings.Join(c.s.Networks, ", "))
		}
	}
	if len(c.s.Networks) > 0 && c.s.Generate != nil {
		c.add("networks", "generate: knows one network only")
	}
}

// checkNetwork checks the name of one.
func checkNetwork(c *checker, path, name string) {
	if len(c.s.Networks) == 0 {
		c.add(path, "there are no networks: list them as networks:")
		return
	}
	c.word(path, "network", name, c.s.Networks)
}

// checkGateways checks the groups of gateways; that of names belongs to groups.
func checkGateways(c *checker) {
	for i, g := range c.s.Gateways {
		path := fmt.Sprintf("gateways[%d]", i)
		if len(g.Lend) == 0 {
			c.add(path, "needs lend: what crosses")
		}
		for j, l := range g.Lend {
			checkLend(c, fmt.Sprintf("%s.lend[%d]", path, j), l)
		}
	}
	if len(c.s.Networks) == 0 {
		return
	}
	for i, l := range c.s.Levels {
		if l == "stack" {
			c.add(fmt.Sprintf("levels[%d]", i), "several networks are at levels sim and net only")
		}
	}
}

func checkLend(c *checker, path string, l Lend) {
	switch {
	case (l.Cluster == "") == (l.Topic == ""):
		c.add(path, "needs cluster or topic, one of the two")
	case l.Topic != "":
		checkTopics(c, path, l)
	default:
		if why := noCluster(c.s.Clusters, l.Cluster); why != "" {
			c.add(path+".cluster", "%s", why)
		}
	}
	c.labelOrNone(path+".as", "name", l.As)
	checkNetwork(c, path+".from", l.From)
	checkNetwork(c, path+".to", l.To)
	if l.From == l.To {
		c.add(path, "it leads from a network to itself")
	}
	c.number(path+".priority", l.Priority, 1, 255)
	c.natural(path+".messages_per_second", l.Messages)
	c.natural(path+".in_flight", l.InFlight)
	c.natural(path+".tunnels", l.Tunnels)
	if l.Bytes < 0 {
		c.add(path+".bytes_per_second", "%v is negative", l.Bytes)
	}
}

// checkTopics checks what is only so where topics are lent.
func checkTopics(c *checker, path string, l Lend) {
	word, _, _ := strings.Cut(l.Topic, ".")
	if err := match.CheckPattern(l.Topic); err != nil {
		c.add(path+".topic", "%s", inWords(err))
	} else if word == "*" || word == ">" {
		c.add(path+".topic", "its first word must be a name: one that begins with a wildcard stands for all topics there are")
	}
	if strings.Contains(l.As, ".") {
		c.add(path+".as", "%q stands for the first word of the topics, and has no points", short(l.As))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"priority", l.Priority != 0}, {"transit", l.Transit}, {"in_flight", l.InFlight != 0}, {"tunnels", l.Tunnels != 0}} {
		if f.set {
			c.add(path+"."+f.name, "topics have none")
		}
	}
}

// noAddress says why nothing can be sent to an address, or "": it is no cluster's name,
// nor that by which one is lent, or it names a network that there is not.
func noAddress(s *Scenario, address string) string {
	name, network := SplitAddress(address)
	if network != "" || strings.HasSuffix(address, "@") {
		if len(s.Networks) == 0 {
			return "there are no networks: list them as networks:"
		}
		if why := unknown("network", network, s.Networks); why != "" {
			return why
		}
	}
	for _, g := range s.Gateways {
		if slices.ContainsFunc(g.Lend, func(l Lend) bool { return l.Cluster != "" && l.Called() == name }) {
			return ""
		}
	}
	return noCluster(s.Clusters, name)
}

// noGateways checks that none of them is a gateway: those have no members, callers,
// subscriptions or programs of their own, and one file of keys for each network.
func noGateways(c *checker, path, what string, selectors []string) {
	names, err := c.index.Select(selectors...)
	if err != nil || slices.Contains(selectors, "*") {
		return
	}
	if i := slices.IndexFunc(names, c.index.isGateway); i >= 0 {
		c.add(path, "%s is a gateway: it %s", names[i], what)
	}
}

// lends says what a crossing is, for people.
func (l Lend) lends() string {
	what := l.Cluster
	if l.Topic != "" {
		what = "topics " + l.Topic
	}
	text := sentence(fmt.Sprintf("%s of %s to %s", what, l.From, l.To))
	text.also(l.As != "" && l.As != l.Cluster, " as %s", l.As)
	text.also(l.Transit, ", with what is lent to %s", l.From)
	text.also(l.Priority > 0, ", priority %d", l.Priority)
	text.also(l.Messages > 0, ", at most %d messages/s", l.Messages)
	text.also(l.Bytes > 0, ", at most %d bytes/s", int(l.Bytes))
	text.also(l.InFlight > 0, ", at most %d requests at once", l.InFlight)
	text.also(l.Tunnels > 0, ", at most %d tunnels at once", l.Tunnels)
	return string(text)
}

// gateways tells what crosses between networks.
func (p *page) gateways() {
	p.title = "Gateways"
	for _, g := range p.x.s.Gateways {
		text := sentence(fmt.Sprintf("%s (%d)", p.x.index.people(g.Names()), max(g.Count, 1)))
		text.also(g.Start > 0 || g.Every > 0, ", from %v on", g.Start)
		p.entry("%s", text)
		for _, l := range g.Lend {
			p.entry("  lend %s", l.lends())
		}
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"slices"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// border is what gateways have in the place of a network and a key of their own.
const border = "border"

// keyLabel tells the network keys of groups apart.
func keyLabel(g scenario.Nodes) string {
	if g.Network == "" || g.Key == "" {
		return g.Network + g.Key
	}
	return g.Network + "/" + g.Key
}

// seeds is the first node of a network, unless there is none yet.
func (c *crew) seeds(network string) []string {
	for _, n := range c.nodes {
		if n.network == network && n.spec.Relay == "" {
			return []string{n.name}
		}
	}
	return nil
}

// gateways adds them to the nodes.
func (c *crew) gateways() error {
	for _, g := range c.p.scenario.Gateways {
		spec := &GatewaySpec{Lend: g.Lend}
		for _, name := range g.Networks() {
			file, err := network(c.p.scenario.Seed, name, "")
			if err != nil {
				return err
			}
			spec.Networks = append(spec.Networks, GatewayNetwork{Name: name, File: file, Seeds: c.seeds(name)})
		}
		for _, name := range g.Names() {
			n := &crewNode{
				name: name, start: c.p.index.Starts(name).D(), network: border, key: border, factor: 1,
				spec: NodeSpec{Name: name, Near: g.Near, Gateway: spec},
			}
			c.nodes, c.by[name] = append(c.nodes, n), n
		}
	}
	return nil
}

// seedsOf are the nodes that one dials to join, for the history.
func seedsOf(n *crewNode) []string {
	spec := n.carrier().spec
	all := slices.Clone(spec.Seeds)
	if spec.Gateway == nil {
		if len(all) == 0 {
			return []string{spec.Name}
		}
		return all
	}
	for _, network := range spec.Gateway.Networks {
		all = append(all, network.Seeds...)
	}
	return all
}

// crossings lists what each gateway lends, for the history.
func (c *crew) crossings() (all []history.Crossing) {
	for _, n := range c.nodes {
		if n.spec.Gateway == nil {
			continue
		}
		for _, l := range n.spec.Gateway.Lend {
			all = append(all, history.Crossing{
				Gateway: n.name, From: l.From, To: l.To, Cluster: l.Cluster, Topic: l.Topic, As: l.Called(), Transit: l.Transit,
			})
		}
	}
	return all
}

// job is the cluster that an address stands for, whatever it is called where it is lent to.
func (c *crew) job(address string) (scenario.Cluster, bool) {
	name, _ := scenario.SplitAddress(address)
	crossings := c.crossings()
	for range history.MaxNetworks { // borders at which it can have got another name
		i := slices.IndexFunc(c.p.scenario.Clusters, func(job scenario.Cluster) bool { return job.Name == name })
		if i >= 0 {
			return c.p.scenario.Clusters[i], true
		}
		i = slices.IndexFunc(crossings, func(l history.Crossing) bool { return l.Topic == "" && l.As == name })
		if i < 0 {
			break
		}
		name = crossings[i].Cluster
	}
	return scenario.Cluster{}, false
}

// isRough says whether packets are lost, or wait before a bottleneck, between a caller
// and a member, or on the way through a gateway.
func (c *crew) isRough(caller, member *crewNode) bool {
	rough := func(a, b *crewNode) bool {
		l := c.p.link(a.name, b.name)
		return a != b && (l.Loss > 0 || l.Model().Bounded())
	}
	if caller.network == member.network {
		return rough(caller, member)
	}
	between := []*crewNode{caller, member}
	for _, n := range c.nodes {
		if n.spec.Gateway != nil {
			between = append(between, n)
		}
	}
	return slices.ContainsFunc(between, func(a *crewNode) bool {
		return slices.ContainsFunc(between, func(b *crewNode) bool { return rough(a, b) })
	})
}

// wanted says how many members a caller has to see before the scenario begins: those of
// its network, and of other ones those that lend, one for each gateway that lives and
// each network that it lends members of.
func (c *crew) wanted() func(pair) int {
	type place struct{ network, cluster string }
	own := make(map[place]int)
	for _, n := range c.nodes {
		if n.alive() == nil {
			continue
		}
		for _, job := range n.jobs {
			own[place{n.network, job.Name}]++
		}
	}
	crossings := slices.DeleteFunc(c.crossings(), func(l history.Crossing) bool { return c.by[l.Gateway].alive() == nil })
	return func(o pair) int {
		name, of := scenario.SplitAddress(o.cluster)
		here := c.by[o.node].carrier().network
		want := 0
		if of == "" || of == here {
			want = own[place{here, name}]
		}
		type lent struct{ gateway, from string }
		lends := make(map[lent]bool)
		for _, r := range history.Routes(crossings, here, name) {
			if (of == "" || of == r[0].From) && own[place{r[0].From, r[0].Cluster}] > 0 && r.Told(crossings) {
				for _, g := range r.Lenders() {
					lends[lent{g, r[0].From}] = true
				}
			}
		}
		return want + len(lends)
	}
}

// lender is the network that has lent a member to a node's own; "" if it is its own.
func lender(n *crewNode, m patterns.Member) string {
	if n.network == "" || m.Network == n.network {
		return ""
	}
	return m.Network
}

// peersOf are the peer ids of a gateway; nil for a node.
func peersOf(p Participant) map[string]string {
	if b, ok := p.(Border); ok {
		return b.Peers()
	}
	return nil
}

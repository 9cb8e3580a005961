// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
)

func (n *worldNode) watch(name string) {
	n.pools[name] = newPool()
	n.views[name] = &View{pool: n.pools[name]}
	n.do(watchEvent{name, n.pools[name]})
}

func (n *worldNode) register(name string, m MemberID) {
	n.members[m] = name
	n.do(registerEvent{name, Registration{Member: m, Capacity: 1, MaxMessage: 1 << 20}})
}

func (n *worldNode) unregister(m MemberID) {
	name := n.members[m]
	delete(n.members, m)
	n.do(unregisterEvent{name, m})
}

// truth lists who serves name and can be reached from n.
func (n *worldNode) truth(name string) []string {
	var all []leaseKey
	for _, o := range n.w.nodes {
		if !o.up || o.side != n.side {
			continue
		}
		for m, served := range o.members {
			if served == name {
				all = append(all, leaseKey{o.id, m})
			}
		}
	}
	slices.SortFunc(all, compareLeaseKeys)
	return keyStrings(all)
}

func keyStrings(keys []leaseKey) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%v@%x", k.member, k.peer[2:6]))
	}
	return out
}

// seen lists whom n's view of name has.
func (n *worldNode) seen(name string) []string {
	var all []leaseKey
	for _, m := range n.views[name].Members {
		all = append(all, leaseKey{m.Peer, m.ID})
	}
	return keyStrings(all)
}

func (n *worldNode) states(name string) []string {
	out := []string{}
	for _, m := range n.views[name].Members {
		out = append(out, m.State())
	}
	return out
}

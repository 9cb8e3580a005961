// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// knowledge is the one rule by which a node is excused for what it could not know or
// do. A node that is asleep does nothing meanwhile. A node that has joined nobody
// knows nobody, and is known to nobody. A stranger is promised nothing, and owes
// nothing to another stranger. All checkers ask it. It never changes after
// newKnowledge.
type knowledge struct {
	h      *history.History
	lives  *lives
	asleep map[string]spans         // node → while it, or the relay of a client, was paused
	out    map[string]time.Duration // node → since when it is excluded

	// The lives that could find each other are a forest: each points to one that it
	// found, and when. Whoever finds a node of a tree finds all of it.
	vertices map[vertex]int
	parent   []int
	since    []time.Duration // when a vertex found its parent; forever = it is a root
	rank     []int
}

// vertex is a life in one of its networks: a gateway has several.
type vertex struct {
	life    int
	network string
}

// meeting is when two lives could know each other first.
type meeting struct {
	a, b int // vertices
	at   time.Duration
}

func newKnowledge(l *lives, r *Rules) *knowledge {
	k := &knowledge{h: l.h, lives: l, asleep: make(map[string]spans), out: make(map[string]time.Duration), vertices: make(map[vertex]int)}
	k.sleep()
	k.exclude()
	for i := range l.h.Nodes {
		for _, network := range l.networks(i) {
			k.vertices[vertex{i, network}] = len(k.parent)
			k.parent, k.since, k.rank = append(k.parent, len(k.parent)), append(k.since, forever), append(k.rank, 0)
		}
	}
	meetings := append(k.invitations(r), k.reunions()...)
	k.join(meetings)
	if !k.whole() {
		k.join(append(meetings, k.sightings()...))
	}
	return k
}

// sleep notes who was paused, and when.
func (k *knowledge) sleep() {
	paused := make(map[string][]span)
	for _, fault := range k.h.Faults {
		if fault.Do != "pause" {
			continue
		}
		for _, node := range k.lives.withClients(fault.Nodes) {
			paused[node] = append(paused[node], span{fault.At, Over(k.h, fault)})
		}
	}
	k.asleep = eachMerged(paused)
}

// awake is when a node has been awake for so long since a time.
func (k *knowledge) awake(node string, from, long time.Duration) time.Duration {
	for _, s := range k.asleep[node] {
		if s.until <= from {
			continue
		}
		if plus(from, long) <= s.from {
			break
		}
		long, from = minus(long, max(0, minus(s.from, from))), s.until
	}
	return plus(from, long)
}

// stranger says whether a node was excluded at a time, even if others did not know yet.
func (k *knowledge) stranger(node string, at time.Duration) bool {
	since, out := k.out[node]
	return out && since <= at
}

// strangers says whether both were: what two strangers do with each other is theirs.
func (k *knowledge) strangers(a, b string, at time.Duration) bool {
	return k.stranger(a, at) && k.stranger(b, at)
}

// exclude notes who was excluded, and when.
func (k *knowledge) exclude() {
	for i := range k.h.Nodes {
		n := &k.h.Nodes[i]
		since := forever
		switch {
		case n.Key == history.Excluded:
			since = n.From
		case n.How == history.Excluded:
			since = n.Until
		}
		if before, known := k.out[n.Name]; since < forever && (!known || since < before) {
			k.out[n.Name] = since
		}
	}
}

// met is since when two lives, or the relays of clients, could know each other:
// forever if they never could.
func (k *knowledge) met(a, b int, at time.Duration) time.Duration {
	x, y := k.host(a, at), k.host(b, at)
	if x < 0 || y < 0 || x == y {
		return 0
	}
	when := forever
	for _, network := range k.lives.networks(x) {
		u, known := k.vertices[vertex{x, network}]
		v, both := k.vertices[vertex{y, network}]
		if known && both {
			when = min(when, k.found(u, v))
		}
	}
	return when
}

// host is the life of the node that speaks for a life at a time: its own, or its
// relay's.
func (k *knowledge) host(life int, at time.Duration) int {
	if life < 0 || k.h.Nodes[life].Relay == "" {
		return life
	}
	return k.lives.at(k.h.Nodes[life].Relay, at)
}

// found is when two vertices could know each other.
func (k *knowledge) found(u, v int) time.Duration {
	var at time.Duration
	for u != v {
		if k.since[u] > k.since[v] {
			u, v = v, u
		}
		if k.since[u] == forever {
			return forever
		}
		at, u = max(at, k.since[u]), k.parent[u]
	}
	return at
}

// join makes the forest anew of meetings, the earliest first.
func (k *knowledge) join(meetings []meeting) {
	for i := range k.parent {
		k.parent[i], k.since[i], k.rank[i] = i, forever, 0
	}
	slices.SortFunc(meetings, func(x, y meeting) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	for _, m := range meetings {
		u, v := k.root(m.a), k.root(m.b)
		if u == v {
			continue
		}
		if k.rank[u] > k.rank[v] {
			u, v = v, u
		}
		k.rank[v] = max(k.rank[v], k.rank[u]+1)
		k.parent[u], k.since[u] = v, m.at
	}
}

func (k *knowledge) root(u int) int {
	for k.parent[u] != u {
		u = k.parent[u]
	}
	return u
}

// whole says whether everybody had found everybody when the network stood.
func (k *knowledge) whole() bool {
	roots := 0
	for _, at := range k.since {
		if at == forever {
			roots++
		} else if at > k.h.Start {
			return false
		}
	}
	return roots <= 1
}

// invitations are the meetings of lives with their seeds: while both are awake, and
// nothing parts them, for long enough. A life whose seeds are not in the history has
// found everybody at once.
func (k *knowledge) invitations(r *Rules) (all []meeting) {
	parted := k.partings()
	for u, v := range k.vertices {
		node := &k.h.Nodes[u.life]
		if node.Relay != "" {
			continue
		}
		if len(node.Seeds) == 0 {
			for w, other := range k.vertices {
				if w.network == u.network {
					all = append(all, meeting{v, other, max(node.From, k.h.Nodes[w.life].From)})
				}
			}
			continue
		}
		for _, seed := range node.Seeds {
			for _, life := range k.lives.byName[seed] {
				other, same := k.vertices[vertex{life, u.network}]
				if !same || life == u.life || k.barred(u.life, life) {
					continue
				}
				both := k.lives.during(u.life).meet(k.lives.during(life))
				for _, s := range merged(slices.Concat(parted[pairOf(node.Name, seed)], k.asleep[node.Name], k.asleep[seed])).cut(both, nil) {
					if s.length() >= r.Converge {
						all = append(all, meeting{v, other, s.from})
						break
					}
				}
			}
		}
	}
	return all
}

// reunions are those of one life of a node with the next one, which is the same peer:
// others dial it again.
func (k *knowledge) reunions() (all []meeting) {
	for _, list := range k.lives.byName {
		for i := 1; i < len(list); i++ {
			before, life := list[i-1], list[i]
			if k.h.Nodes[before].Peer != k.h.Nodes[life].Peer || k.barred(before, life) {
				continue
			}
			for _, network := range k.lives.networks(life) {
				u, known := k.vertices[vertex{before, network}]
				v, both := k.vertices[vertex{life, network}]
				if known && both {
					all = append(all, meeting{u, v, k.h.Nodes[life].From})
				}
			}
		}
	}
	return all
}

// sightings are the meetings of those that showed a member of each other.
func (k *knowledge) sightings() (all []meeting) {
	of := make(map[string]string) // peer → node
	for i := range k.h.Nodes {
		if n := &k.h.Nodes[i]; n.Relay == "" {
			of[n.Peer] = n.Name
		}
	}
	seen := make(map[[2]int]bool)
	for i := range k.h.Views {
		v := &k.h.Views[i]
		name, known := of[v.Peer]
		if !known || v.Network != "" || !alive(v.State) {
			continue
		}
		x, y := k.host(k.lives.at(v.Node, v.At), v.At), k.lives.at(name, v.At)
		if x < 0 || y < 0 || seen[[2]int{x, y}] || k.h.Nodes[y].Peer != v.Peer {
			continue
		}
		seen[[2]int{x, y}] = true
		for _, network := range k.lives.networks(x) {
			u, both := k.vertices[vertex{x, network}]
			w, too := k.vertices[vertex{y, network}]
			if both && too {
				all = append(all, meeting{u, w, v.At})
			}
		}
	}
	return all
}

// barred says whether two lives hold different keys of their network, so that neither
// lets the other in. A gateway has the keys of all its networks.
func (k *knowledge) barred(a, b int) bool {
	x, y := &k.h.Nodes[a], &k.h.Nodes[b]
	if x.Gateway != nil || y.Gateway != nil {
		return x.Key == history.Excluded || y.Key == history.Excluded
	}
	return x.Key != y.Key
}

// partings is when cuts and clogs parted nodes, one way or the other.
func (k *knowledge) partings() map[[2]string][]span {
	out := make(map[[2]string][]span)
	seeds := make(map[string]bool)
	for i := range k.h.Nodes {
		for _, seed := range k.h.Nodes[i].Seeds {
			seeds[seed] = true
		}
	}
	for _, fault := range k.h.Faults {
		if fault.Do != "cut" && fault.Do != "clog" || len(fault.Between) != 2 {
			continue
		}
		while := span{fault.At, Over(k.h, fault)}
		for i, side := range fault.Between {
			for _, seed := range side {
				if !seeds[seed] {
					continue
				}
				for _, other := range fault.Between[1-i] {
					out[pairOf(seed, other)] = append(out[pairOf(seed, other)], while)
				}
			}
		}
	}
	return out
}

// pairOf names two nodes, in any order.
func pairOf(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// networks are those that a life is in; a client is in its relay's, and not by itself.
func (l *lives) networks(life int) (names []string) {
	n := &l.h.Nodes[life]
	switch {
	case n.Relay != "":
		return nil
	case n.Gateway == nil:
		return []string{n.Network}
	}
	for name := range n.Gateway {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// pair is a node and a cluster that it calls.
type pair struct{ node, cluster string }

// pairsOf lists who calls what, in the scenario's order.
func pairsOf(s scenario.Scenario) (all []pair) {
	seen := make(map[pair]bool)
	add := func(w scenario.Work) {
		if w.Kind == "publish" { // to a topic
			return
		}
		for _, name := range w.From {
			if o := (pair{name, w.To}); !seen[o] {
				seen[o] = true
				all = append(all, o)
			}
		}
	}
	for _, w := range s.Workload {
		add(w)
	}
	for _, a := range s.Timeline {
		if a.Work != nil {
			add(*a.Work)
		}
	}
	return all
}

// observer looks from time to time at what one node sees of one cluster.
type observer struct {
	p     *player
	pair  pair
	node  *crewNode
	every time.Duration
	life  *life             // of which seen tells
	seen  map[string]string // member to state
	peers map[string]string
}

// observe starts to look. How often depends on how much there is to look at:
// about 20,000 members a second of the level's time, but at least every 10 ms
// and at most every 500 ms.
func (p *player) observe(o pair) {
	members := 1
	for _, c := range p.scenario.Clusters {
		if c.Name == o.cluster {
			members = max(1, len(c.Members))
		}
	}
	every := time.Duration(members*len(p.pairs)) * time.Second / 20_000
	v := &observer{p: p, pair: o, node: p.crew.by[o.node], every: min(max(every, 10*time.Millisecond), 500*time.Millisecond)}
	v.forget()
	v.plan(p.level.Now())
}

func (v *observer) forget() {
	v.seen, v.peers = make(map[string]string), make(map[string]string)
}

func (v *observer) plan(at time.Duration) {
	if at >= v.p.safety+v.p.scenario.Settle.D() {
		return
	}
	v.p.at(at, "look "+v.pair.node+" "+v.pair.cluster, func() {
		v.look()
		v.plan(v.p.level.Now() + v.every)
	})
}

func (v *observer) look() {
	l := v.node.alive()
	if l == nil {
		return
	}
	members, known := v.p.members(l, v.pair.cluster)
	if !known || v.node.alive() != l {
		return
	}
	now := v.p.level.Now()
	if l != v.life { // a new life knows nothing of what the last one saw
		v.life = l
		v.forget()
	}
	var changes []history.View
	note := func(id, peer, state string) {
		changes = append(changes, history.View{At: now, Node: v.pair.node, Cluster: v.pair.cluster, Member: id, Peer: peer, State: state})
	}
	now2 := make(map[string]bool, len(members))
	for _, m := range members {
		now2[m.ID] = true
		if v.seen[m.ID] != m.State {
			note(m.ID, m.Peer, m.State)
			v.seen[m.ID], v.peers[m.ID] = m.State, m.Peer
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.seen)) {
		if !now2[id] {
			note(id, v.peers[id], "")
			delete(v.seen, id)
			delete(v.peers, id)
		}
	}
	v.p.record.views(changes)
}

// members returns what a node sees of a cluster, and whether it knows.
func (p *player) members(l *life, cluster string) ([]patterns.Member, bool) {
	ctx, cancel := l.Within(lookWithin)
	defer cancel()
	members, err := l.Members(ctx, cluster)
	if errors.Is(err, patterns.ErrNoMembers) {
		return nil, true
	}
	return members, err == nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// registrations knows who was a member of which cluster, and when. It never
// changes after newRegistrations. A registration is named by its index in
// History.Tenures.
type registrations struct {
	h      *history.History
	lives  *lives
	of     map[string][]int         // cluster → those that were acknowledged
	byNode map[string][]int         // node → its registrations
	named  map[string]int           // id of a member → its registration
	seen   map[string]time.Duration // id of a member → when somebody else showed it as live first
}

func newRegistrations(l *lives) *registrations {
	h := l.h
	m := &registrations{
		h: h, lives: l, of: make(map[string][]int), byNode: make(map[string][]int), named: make(map[string]int), seen: make(map[string]time.Duration),
	}
	for i := range h.Tenures {
		t := &h.Tenures[i]
		m.byNode[t.Node] = append(m.byNode[t.Node], i)
		if t.From >= 0 {
			m.of[t.Cluster] = append(m.of[t.Cluster], i)
			m.named[t.Member] = i
		}
	}
	for i := range h.Views {
		v := &h.Views[i]
		if first, seen := m.seen[v.Member]; v.State == "live" && v.Peer != l.peerOf(v.Node, v.At) && (!seen || v.At < first) {
			m.seen[v.Member] = v.At
		}
	}
	return m
}

// known says whether a caller's life and a tenure belong to the same cluster.
func (m *registrations) known(life, tenure int) bool {
	t := &m.h.Tenures[tenure]
	return m.lives.acquainted(life, m.lives.at(t.Node, t.Asked), t.Cluster)
}

// lostNode says whether the node of a tenure, or its relay, was lost, not stopped,
// after a time: what it had accepted is lost with it.
func (m *registrations) lostNode(tenure int, after time.Duration) bool {
	t := &m.h.Tenures[tenure]
	lost := func(life int) bool { return life >= 0 && m.lives.died(life) && m.h.Nodes[life].Until >= after }
	return lost(m.lives.at(t.Node, t.Asked)) || lost(m.lives.relay(t.Node, after))
}

// seat is the node of a member, or its id if it has none.
func (m *registrations) seat(member string) string {
	if tenure, ok := m.named[member]; ok {
		return m.h.Tenures[tenure].Node
	}
	return "member " + member
}

// serving counts the registrations of a node that could have work then, or just
// before: a sample takes its figures one after the other.
func (m *registrations) serving(node string, at time.Duration) int {
	n := 0
	for _, name := range m.lives.withClients([]string{node}) {
		for _, i := range m.byNode[name] {
			if serves(&m.h.Tenures[i], at, time.Second) {
				n++
			}
		}
	}
	return n
}

// truth is when a member was live: acknowledged, and not yet leaving or lost.
func truth(t *history.Tenure) span {
	if t.From < 0 {
		return span{}
	}
	return span{t.From, death(t)}
}

// death is when a member ceased to be live.
func death(t *history.Tenure) time.Duration {
	switch {
	case t.Leaving >= 0 && t.Until >= 0:
		return min(t.Leaving, t.Until)
	case t.Leaving >= 0:
		return t.Leaving
	case t.Until >= 0:
		return t.Until
	default:
		return forever
	}
}

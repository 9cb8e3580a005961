// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// facts are a history with the indexes that measures and checkers need. They
// never change after newFacts, and take nonsense in a history for granted.
type facts struct {
	h     *history.History
	rules Rules

	lives     map[string][]int         // node → its lives, in order
	requests  map[uint64]int           // id → the request
	runs      [][]int                  // request → its runs, in order of the history
	strays    []int                    // runs of requests that nobody made, or without a tenure
	tenures   map[string][]int         // cluster → its tenures that were acknowledged
	byNode    map[string][]int         // node → its tenures
	endedBy   []int                    // tenure → the fault that ended it, or -1
	named     map[string]int           // id of a member → its tenure
	seen      map[string]time.Duration // id of a member → when somebody else showed it as live first
	topics    *topics
	rough     map[[2]string]bool // caller, node of a member: History.Rough
	calm      *disturbance
	lastFault time.Duration // when the last fault was over, or the last node was started; at least Start
}

func newFacts(h *history.History, r Rules) *facts {
	f := &facts{
		h: h, rules: r,
		lives: make(map[string][]int), requests: make(map[uint64]int, len(h.Requests)),
		rough: make(map[[2]string]bool), tenures: make(map[string][]int), byNode: make(map[string][]int), named: make(map[string]int),
	}
	for i := range h.Nodes {
		f.lives[h.Nodes[i].Name] = append(f.lives[h.Nodes[i].Name], i)
	}
	for _, list := range f.lives {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(h.Nodes[a].From, h.Nodes[b].From) })
	}
	f.indexRequests()
	f.indexTenures()
	f.indexFaults()
	for _, pair := range h.Rough {
		f.rough[pair] = true
	}
	f.topics = newTopics(f)
	f.seen = make(map[string]time.Duration)
	for i := range h.Views {
		v := &h.Views[i]
		if first, seen := f.seen[v.Member]; v.State == "live" && v.Peer != f.peerOf(v.Node, v.At) && (!seen || v.At < first) {
			f.seen[v.Member] = v.At
		}
	}
	return f
}

func (f *facts) indexRequests() {
	for i := range f.h.Requests {
		f.requests[f.h.Requests[i].ID] = i
	}
	f.runs = make([][]int, len(f.h.Requests))
	for i := range f.h.Runs {
		run := &f.h.Runs[i]
		request, ok := f.requests[run.Request]
		if !ok || run.Tenure < 0 || run.Tenure >= len(f.h.Tenures) {
			f.strays = append(f.strays, i)
			continue
		}
		f.runs[request] = append(f.runs[request], i)
	}
}

func (f *facts) indexTenures() {
	for i := range f.h.Tenures {
		t := &f.h.Tenures[i]
		f.byNode[t.Node] = append(f.byNode[t.Node], i)
		if t.From >= 0 {
			f.tenures[t.Cluster] = append(f.tenures[t.Cluster], i)
			f.named[t.Member] = i
		}
	}
}

func (f *facts) indexFaults() {
	f.endedBy = make([]int, len(f.h.Tenures))
	for i := range f.endedBy {
		f.endedBy[i] = -1
	}
	f.lastFault = f.h.Start
	for i := range f.h.Nodes {
		f.lastFault = max(f.lastFault, f.h.Nodes[i].From)
	}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		// What undoes a fault is that fault's end; alone, such as the heal before
		// the liveness phase, it changes nothing.
		if !undoes(fault) {
			f.lastFault = max(f.lastFault, fault.At, f.over(fault))
		}
		if removes(fault.Do) {
			for _, node := range fault.Nodes {
				f.blame(i, node)
			}
		}
	}
	f.calm = newDisturbance(f)
}

// blame notes which tenures of the node a fault ended: the last such fault
// before it counts.
func (f *facts) blame(fault int, node string) {
	at := f.h.Faults[fault].At
	for _, i := range f.byNode[node] {
		t := &f.h.Tenures[i]
		if t.Leaving < 0 || at < t.Asked || at > plus(t.Leaving, time.Second) {
			continue
		}
		if f.endedBy[i] < 0 || f.h.Faults[f.endedBy[i]].At <= at {
			f.endedBy[i] = fault
		}
	}
}

// late says whether a life began after the network stood.
func (f *facts) late(life int) bool { return life >= 0 && f.h.Nodes[life].From > f.h.Start }

// over is when a fault ended. What lasts is ended by the liveness phase.
func (f *facts) over(fault *history.Fault) time.Duration {
	switch {
	case fault.Until >= fault.At:
		return fault.Until
	case lasts(fault.Do):
		return max(fault.At, f.h.Safety)
	default:
		return fault.At
	}
}

// life is the index of the node's life at that time: the last one that had
// begun, or else its first; -1 if there is no such node.
func (f *facts) life(node string, at time.Duration) int {
	list := f.lives[node]
	if len(list) == 0 {
		return -1
	}
	i, _ := slices.BinarySearchFunc(list, at, func(life int, at time.Duration) int {
		if f.h.Nodes[life].From > at {
			return 1
		}
		return -1
	})
	return list[max(i-1, 0)]
}

// peerOf is the peer id of a node's life at that time.
func (f *facts) peerOf(node string, at time.Duration) string {
	if life := f.life(node, at); life >= 0 {
		return f.h.Nodes[life].Peer
	}
	return ""
}

// lifetime is when a life was, at most until the run's end.
func (f *facts) lifetime(life int) span {
	n := &f.h.Nodes[life]
	if n.Until < 0 {
		return span{n.From, f.h.End}
	}
	return span{n.From, min(n.Until, f.h.End)}
}

// lostNode says whether the node of a tenure was lost, not stopped, after a
// time: what it had accepted is lost with it.
func (f *facts) lostNode(tenure int, after time.Duration) bool {
	t := &f.h.Tenures[tenure]
	life := f.life(t.Node, t.Asked)
	return life >= 0 && f.died(life) && f.h.Nodes[life].Until >= after
}

// died says whether a life ended without a farewell.
func (f *facts) died(life int) bool {
	n := &f.h.Nodes[life]
	return n.Until >= 0 && n.How != "stopped"
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

// acquainted says whether two lives of nodes hold the same keys for a cluster.
func (f *facts) acquainted(a, b int, cluster string) bool {
	if a < 0 || b < 0 {
		return false
	}
	x, y := &f.h.Nodes[a], &f.h.Nodes[b]
	return x.Key == y.Key && x.Keys[cluster] == y.Keys[cluster]
}

// known says whether a caller's life and a tenure belong to the same cluster.
func (f *facts) known(life, tenure int) bool {
	t := &f.h.Tenures[tenure]
	return f.acquainted(life, f.life(t.Node, t.Asked), t.Cluster)
}

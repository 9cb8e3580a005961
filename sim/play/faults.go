// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// openFault is a fault that has not ended.
type openFault struct {
	index   int // in the history
	do      string
	nodes   []string
	between [][]string
	pairs   map[[2]string]bool // degrade: the links that are still degraded
}

// ends says whether action a undoes the fault.
func (o openFault) ends(a scenario.Action) bool {
	switch a.Do {
	case "resume":
		return o.do == "pause" && slices.Equal(o.nodes, a.Nodes)
	case "slow", "router", "skew":
		return o.do == a.Do && slices.Equal(o.nodes, a.Nodes)
	case "mend":
		return o.do == "cut" && o.same(a)
	case "unclog":
		return o.do == "clog" && o.same(a)
	case "degrade":
		return o.do == "degrade" && o.replaced(a)
	case "heal":
		return slices.Contains([]string{"cut", "clog", "degrade", "pause", "skew", "router"}, o.do)
	}
	return false
}

func (o openFault) same(a scenario.Action) bool {
	return slices.EqualFunc(o.between, a.Between, func(x, y []string) bool { return slices.Equal(x, y) })
}

// replaced notes that links get another model, and says whether none of the
// fault's is left. What undoes a degradation may come link by link.
func (o openFault) replaced(a scenario.Action) bool {
	for _, link := range links(a.Between) {
		delete(o.pairs, link)
		delete(o.pairs, [2]string{link[1], link[0]})
	}
	return len(o.pairs) == 0
}

func links(between [][]string) (all [][2]string) {
	if len(between) != 2 {
		return nil
	}
	for _, from := range between[0] {
		for _, to := range between[1] {
			if from != to {
				all = append(all, [2]string{from, to})
			}
		}
	}
	return all
}

// open is a fault that stands from now on.
func open(index int, a scenario.Action) openFault {
	o := openFault{index: index, do: a.Do, nodes: a.Nodes, between: a.Between}
	if a.Do == "degrade" {
		o.pairs = make(map[[2]string]bool)
		for _, link := range links(a.Between) {
			o.pairs[link] = true
		}
	}
	return o
}

// fault records an action: a new fault, the end of one, or both. An action
// that puts things back as they were is only an end.
func (r *recorder) fault(at time.Duration, a scenario.Action, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = slices.DeleteFunc(r.open, func(o openFault) bool {
		if !o.ends(a) {
			return false
		}
		r.h.Faults[o.index].Until = at
		return true
	})
	if f := faultOf(at, a); f != nil && !back {
		r.h.Faults = append(r.h.Faults, *f)
		if f.Until < 0 {
			r.open = append(r.open, open(len(r.h.Faults)-1, a))
		}
	}
}

// returned ends what took a node away.
func (r *recorder) returned(node string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = slices.DeleteFunc(r.open, func(o openFault) bool {
		away := o.do == "crash" || o.do == "silence" || o.do == "stop"
		if !away || !slices.Contains(o.nodes, node) {
			return false
		}
		r.h.Faults[o.index].Until = at
		return true
	})
}

// healed ends everything that can be ended; lost nodes stay lost.
func (r *recorder) healed(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Safety = at
	for _, o := range r.open {
		if o.do != "crash" && o.do != "silence" && o.do != "stop" {
			r.h.Faults[o.index].Until = at
		}
	}
	r.open = nil
}

// touched says whether a node was hit by something that stops it, in a time.
func touched(h *history.History, node string, from, until time.Duration) bool {
	return slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
		switch f.Do {
		case "crash", "silence", "stop", "pause":
		default:
			return false
		}
		return slices.Contains(f.Nodes, node) && f.At <= until && (f.Until < 0 || f.Until >= from)
	})
}

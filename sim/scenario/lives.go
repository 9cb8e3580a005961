// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"time"
)

// life is what a node is doing at some point of the timeline.
type life struct {
	up      bool
	paused  bool
	started bool     // an action started it, or it had its first start
	since   Duration // of the last change
	by      string   // the action that changed it
}

// lives plays the steps in their order, drops those that undo what is undone
// already, and reports what can't be: a crash of a node that does not run.
func (x *expander) lives() {
	all := make(map[string]*life, len(x.index.Names()))
	for _, name := range x.index.Names() {
		all[name] = &life{since: x.index.Starts(name)}
	}
	kept := x.steps[:0]
	for _, st := range x.steps {
		if st.Do == "heal" {
			for _, l := range all {
				l.paused = false
			}
		}
		if len(st.Nodes) != 1 {
			kept = append(kept, st)
			continue
		}
		name := st.Nodes[0]
		l := all[name]
		if !l.started && l.since <= st.At {
			l.up, l.started, l.by = true, true, "its start"
		}
		if reason := l.apply(st); reason == "" {
			kept = append(kept, st)
		} else if !st.auto {
			x.add(st.path, "%s of %s at %v: %s", st.Do, name, st.At, reason)
		}
	}
	x.steps = kept
}

// apply changes the life, or says why it can't be.
func (l *life) apply(st step) string {
	switch st.Do {
	case "start", "restart":
		if l.up {
			return "it runs"
		}
		if st.Do == "restart" && !l.started {
			return "it starts at " + l.since.String() + "; start it instead"
		}
		*l = life{up: true, started: true, since: st.At, by: st.Do}
	case "stop", "crash", "silence":
		if !l.up {
			return l.down()
		}
		if st.Do == "stop" && l.paused {
			return "it is paused since " + l.since.String()
		}
		*l = life{started: true, since: st.At, by: st.Do}
	case "pause":
		if !l.up {
			return l.down()
		}
		if l.paused {
			return "it is paused since " + l.since.String()
		}
		l.paused, l.since, l.by = true, st.At, st.Do
	case "resume":
		if !l.up || !l.paused {
			return "it is not paused"
		}
		l.paused, l.since, l.by = false, st.At, st.Do
	}
	return ""
}

func (l *life) down() string {
	if !l.started {
		return "it starts at " + l.since.String()
	}
	return "it is away since " + l.since.String() + " (" + l.by + ")"
}

// absences are the times at which nodes don't run or are paused.
type absences map[string][][2]Duration

// between two absences of a node there is time to get somewhere.
const recovery = Duration(2 * time.Second)

// absences collects them from the steps so far.
func (x *expander) absences() absences {
	away := absences{}
	for _, name := range x.index.Names() {
		if first := x.index.Starts(name); first > 0 {
			away[name] = append(away[name], [2]Duration{-recovery, first})
		}
	}
	sorted := *x
	sorted.steps = slices.Clone(x.steps)
	sorted.order()
	gone := map[string]Duration{}
	for _, st := range sorted.steps {
		if len(st.Nodes) != 1 {
			continue
		}
		name := st.Nodes[0]
		since, ok := gone[name]
		switch st.Do {
		case "stop", "crash", "silence", "pause":
			if !ok {
				gone[name] = st.At
			}
		case "start", "restart", "resume":
			if ok {
				away[name] = append(away[name], [2]Duration{since, st.At})
				delete(gone, name)
			}
		}
	}
	for name, since := range gone { // order does not matter: one entry a node
		away[name] = append(away[name], [2]Duration{since, x.s.Duration})
	}
	return away
}

// take reserves an absence, unless it would touch another one.
func (a absences) take(name string, from, until Duration) bool {
	if !a.free(name, from, until) {
		return false
	}
	a[name] = append(a[name], [2]Duration{from, until})
	return true
}

// free says whether a node is there all the time, and a little before and
// after.
func (a absences) free(name string, from, until Duration) bool {
	return !slices.ContainsFunc(a[name], func(other [2]Duration) bool {
		return from <= other[1]+recovery && until+recovery >= other[0]
	})
}

// wounds are the faults that stand at some point of the timeline and that
// "heal" has to end one by one; cuts and clogs it ends by itself.
type wounds struct {
	*network
	paused, skewed, misled map[string]bool
	degraded               map[[2]string]bool // links, the node that comes first in the file first
}

// heal puts what ends the faults that stand before each "heal". So every
// level heals the same, and expanding again finds nothing to add.
func (x *expander) heal() {
	w := wounds{&x.network, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[[2]string]bool{}}
	var all []step
	for _, st := range x.steps {
		if st.Do == "heal" {
			all = append(all, w.cure(st)...)
		}
		all = append(all, st)
		w.wound(st)
	}
	x.steps = all
}

// wound notes what a step does.
func (w *wounds) wound(st step) {
	for _, name := range st.Nodes {
		switch st.Do {
		case "pause":
			w.paused[name] = true
		case "resume", "stop", "crash", "silence":
			delete(w.paused, name)
		case "skew":
			set(w.skewed, name, st.Offset != 0 || st.Drift != 0)
		case "router":
			set(w.misled, name, st.Mode != "")
		}
	}
	if st.Do != "degrade" {
		return
	}
	for _, link := range w.ordered(st.Between) {
		set(w.degraded, link, !st.Link.like(w.s.Links[w.index.link(link[0], link[1])]))
	}
}

// like says whether two models are the same.
func (l Link) like(m Link) bool {
	return l.Model() == m.Model()
}

func set[K comparable](m map[K]bool, k K, on bool) {
	if on {
		m[k] = true
	} else {
		delete(m, k)
	}
}

// ordered are the links between two sides.
func (x *network) ordered(sides [][]string) [][2]string {
	var links [][2]string
	for _, a := range sides[0] {
		for _, b := range sides[1] {
			if a == b {
				continue
			}
			link := [2]string{a, b}
			if x.index.at[a] > x.index.at[b] {
				link = [2]string{b, a}
			}
			links = append(links, link)
		}
	}
	return links
}

// cure ends everything that stands.
func (w *wounds) cure(heal step) []step {
	if len(w.paused)+len(w.skewed)+len(w.misled)+len(w.degraded) == 0 {
		return nil
	}
	var steps []step
	undo := func(a Action) {
		a.At = heal.At
		steps = append(steps, step{a, heal.path, true})
	}
	for _, name := range w.index.Names() {
		one := []string{name}
		if w.paused[name] {
			undo(Action{Do: "resume", Nodes: one})
		}
		if w.skewed[name] {
			undo(Action{Do: "skew", Nodes: one})
		}
		if w.misled[name] {
			undo(Action{Do: "router", Nodes: one})
		}
		for l, to := range w.degradedFrom(name) {
			if len(to) == 0 {
				continue
			}
			model := w.s.Links[l]
			model.Between = nil
			undo(Action{Do: "degrade", Between: [][]string{one, to}, Link: &model})
		}
	}
	for _, st := range steps {
		w.wound(st)
	}
	return steps
}

// degradedFrom are the later nodes to which a node's links are degraded, by
// the model that they have in the file.
func (w *wounds) degradedFrom(name string) [][]string {
	if len(w.degraded) == 0 {
		return nil
	}
	to := make([][]string, len(w.s.Links))
	for _, other := range w.index.Names()[w.index.at[name]+1:] {
		if w.degraded[[2]string{name, other}] {
			l := w.index.link(name, other)
			to[l] = append(to[l], other)
		}
	}
	return to
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

// wounds are the faults that stand at some point of the timeline and that
// "heal" has to end one by one; cuts and clogs it ends by itself.
type wounds struct {
	paused, skewed, misled map[string]bool
	degraded               map[[2]string]bool // links, the node that comes first in the file first
}

// heals puts what ends the faults that stand before each "heal". So every
// level heals the same, and expanding again finds nothing to add.
func (x *expander) heals() {
	w := wounds{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[[2]string]bool{}}
	var all []step
	for _, st := range x.steps {
		if st.Do == "heal" {
			all = append(all, x.cure(&w, st)...)
		}
		all = append(all, st)
		x.wound(&w, st)
	}
	x.steps = all
}

// wound notes what a step does.
func (x *expander) wound(w *wounds, st step) {
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
	for _, link := range x.ordered(st.Between) {
		set(w.degraded, link, !st.Link.like(x.s.Links[x.index.link(link[0], link[1])]))
	}
}

// like says whether two models are the same.
func (l Link) like(m Link) bool {
	return l.Latency == m.Latency && l.Jitter == m.Jitter && l.Loss == m.Loss && l.Mbps == m.Mbps && l.Queue == m.Queue
}

func set[K comparable](m map[K]bool, k K, on bool) {
	if on {
		m[k] = true
	} else {
		delete(m, k)
	}
}

// ordered are the links between two sides.
func (x *expander) ordered(sides [][]string) [][2]string {
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
func (x *expander) cure(w *wounds, heal step) []step {
	if len(w.paused)+len(w.skewed)+len(w.misled)+len(w.degraded) == 0 {
		return nil
	}
	var steps []step
	undo := func(a Action) {
		a.At = heal.At
		steps = append(steps, step{a, heal.path, true})
	}
	for _, name := range x.index.Names() {
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
		for l, to := range x.degradedFrom(w, name) {
			if len(to) == 0 {
				continue
			}
			model := x.s.Links[l]
			model.Between = nil
			undo(Action{Do: "degrade", Between: [][]string{one, to}, Link: &model})
		}
	}
	for _, st := range steps {
		x.wound(w, st)
	}
	return steps
}

// degradedFrom are the later nodes to which a node's links are degraded, by
// the model that they have in the file.
func (x *expander) degradedFrom(w *wounds, name string) [][]string {
	if len(w.degraded) == 0 {
		return nil
	}
	to := make([][]string, len(x.s.Links))
	for _, other := range x.index.Names()[x.index.at[name]+1:] {
		if w.degraded[[2]string{name, other}] {
			l := x.index.link(name, other)
			to[l] = append(to[l], other)
		}
	}
	return to
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// ViewHistory is how right the views of one cluster were over time.
type ViewHistory struct {
	Cluster   string
	Observers int        // lives of nodes that watched it
	Members   int        // registrations that were acknowledged
	Steps     []ViewStep // one for each time at which something changes, in order
}

// ViewStep holds from its time until the next step's. A view is right if it
// takes every live member to be alive, and no dead one.
type ViewStep struct {
	At          time.Duration
	Watching    int // observers that watch the cluster
	Right       int // of them, those whose view is right
	Missing     int // live members that a view does not take to be alive, summed over all views
	Dead        int // dead members that a view takes to be alive, summed over all views
	Suspect     int // entries in this state, summed over all views
	Ejected     int // as above
	Unreachable int // as above
}

// ViewHistories follows the views of every cluster that somebody watched, by
// the same rules by which Judge finds wrong ones. Clusters are sorted by name.
func ViewHistories(h *history.History) []ViewHistory {
	l := newLives(h)
	m := newRegistrations(l)
	var sweeps []*viewSweep
	of := make(map[string]*viewSweep)
	(&observers{h, l, m}).each(func(s *sight) {
		w := of[s.cluster]
		if w == nil {
			w = &viewSweep{cluster: s.cluster, end: h.End}
			of[s.cluster], sweeps = w, append(sweeps, w)
		}
		w.see(s, l.during(s.life).until)
	})
	slices.SortFunc(sweeps, func(a, b *viewSweep) int { return cmp.Compare(a.cluster, b.cluster) })
	out := make([]ViewHistory, 0, len(sweeps))
	for _, w := range sweeps {
		w.finish()
		out = append(out, ViewHistory{w.cluster, w.observers, len(m.of[w.cluster]), w.steps()})
	}
	return out
}

// viewSweep collects what changes in the views of one cluster, and when.
type viewSweep struct {
	cluster   string
	end       time.Duration // of the run: what lasts until then has no end
	observers int
	current   *observation
	wrong     []span // while the current observer's view was wrong
	changes   []ViewStep
}

func (w *viewSweep) see(s *sight, until time.Duration) {
	if s.observation != w.current {
		w.finish()
		w.current = s.observation
		w.observers++
	}
	for _, m := range s.missing {
		w.add(m, ViewStep{Missing: 1})
	}
	for _, z := range s.zombie {
		w.add(z, ViewStep{Dead: 1})
	}
	w.wrong = append(append(w.wrong, s.missing...), s.zombie...)
	for i, v := range s.changes {
		if i+1 < len(s.changes) {
			w.state(v.State, span{v.At, s.changes[i+1].At})
		} else {
			w.state(v.State, span{v.At, until})
		}
	}
}

func (w *viewSweep) state(state string, when span) {
	switch state {
	case "suspect":
		w.add(when, ViewStep{Suspect: 1})
	case "ejected":
		w.add(when, ViewStep{Ejected: 1})
	case "unreachable":
		w.add(when, ViewStep{Unreachable: 1})
	}
}

// finish counts the current observer: right while it watches, but for when it
// is wrong.
func (w *viewSweep) finish() {
	if w.current == nil {
		return
	}
	for _, s := range w.current.when {
		w.add(s, ViewStep{Watching: 1, Right: 1})
	}
	for _, s := range merged(w.wrong) {
		w.add(s, ViewStep{Right: -1})
	}
	w.current, w.wrong = nil, w.wrong[:0]
}

// add counts d during when.
func (w *viewSweep) add(when span, d ViewStep) {
	if when.empty() {
		return
	}
	d.At = when.from
	w.changes = append(w.changes, d)
	if when.until < w.end {
		w.changes = append(w.changes, ViewStep{
			At: when.until, Watching: -d.Watching, Right: -d.Right, Missing: -d.Missing, Dead: -d.Dead,
			Suspect: -d.Suspect, Ejected: -d.Ejected, Unreachable: -d.Unreachable,
		})
	}
}

// steps sums the changes up.
func (w *viewSweep) steps() []ViewStep {
	slices.SortStableFunc(w.changes, func(a, b ViewStep) int { return cmp.Compare(a.At, b.At) })
	var out []ViewStep
	var now ViewStep
	for i, c := range w.changes {
		now = ViewStep{
			c.At, now.Watching + c.Watching, now.Right + c.Right, now.Missing + c.Missing, now.Dead + c.Dead,
			now.Suspect + c.Suspect, now.Ejected + c.Ejected, now.Unreachable + c.Unreachable,
		}
		if i+1 == len(w.changes) || w.changes[i+1].At > c.At {
			out = append(out, now)
		}
	}
	return out
}

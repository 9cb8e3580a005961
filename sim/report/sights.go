// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// maxPairs bounds observers times members: what lies above is not drawn.
const maxPairs = 20_000_000

// sight is what observers see of one cluster over time.
type sight struct {
	cluster   string
	observers int
	members   int
	steps     []step             // where something changes
	entries   map[string][]point // how many entries are in a state, suspect, ejected, unreachable
}

// step is how right the views are from a time on.
type step struct {
	at       time.Duration
	watching int // observers that are up and have looked
	exact    int // of them, whose view is right
	missing  int // members that should be in a view and are not, over all views
	dead     int // members that are in a view as live and are gone
}

// share is how many of a hundred views are right.
func (s step) share() float64 {
	if s.watching == 0 {
		return 100
	}
	return 100 * float64(s.exact) / float64(s.watching)
}

type point struct {
	at time.Duration
	n  int
}

// sights follows every view. A view is right if it shows as live every member
// that is registered and not leaving, and nobody that is gone.
func sights(h *history.History) []*sight {
	clusters := map[string]bool{}
	for i := range h.Views {
		clusters[h.Views[i].Cluster] = true
	}
	var all []*sight
	for _, cluster := range slices.SortedFunc(maps.Keys(clusters), natural) {
		if s := follow(h, cluster); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// watcher replays the views of one cluster.
type watcher struct {
	must, may []bool // members, by index
	seen      [][]bool
	active    []bool
	wrong     []int // entries that are wrong, by observer
	now       step
	states    []map[int]string
	count     map[string]int
	out       *sight
}

// change is something that happens to an observer or a member.
type change struct {
	at time.Duration
	do func(w *watcher)
}

func follow(h *history.History, cluster string) *sight {
	observers, members := map[string]int{}, map[string]int{}
	var changes []change
	for i := range h.Tenures {
		if t := &h.Tenures[i]; t.Cluster == cluster && t.Member != "" && t.From >= 0 {
			changes = append(changes, tenureChanges(t, index(members, t.Member))...)
		}
	}
	for i := range h.Views {
		if v := &h.Views[i]; v.Cluster == cluster {
			o, m, state := index(observers, v.Node), index(members, v.Member), v.State
			changes = append(changes, change{v.At, func(w *watcher) { w.look(o, m, state) }})
		}
	}
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if o, ok := observers[n.Name]; ok && n.Until >= 0 {
			changes = append(changes, change{n.Until, func(w *watcher) { w.leave(o) }})
		}
	}
	if len(observers)*len(members) > maxPairs {
		return nil
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	w := newWatcher(cluster, len(observers), len(members))
	for i, c := range changes {
		c.do(w)
		if i+1 == len(changes) || changes[i+1].at > c.at {
			w.record(c.at)
		}
	}
	return w.out
}

func tenureChanges(t *history.Tenure, m int) []change {
	all := []change{
		{t.Asked, func(w *watcher) { w.truth(m, false, true) }},
		{t.From, func(w *watcher) { w.truth(m, true, true) }},
	}
	if t.Leaving >= 0 {
		all = append(all, change{max(t.Leaving, t.From), func(w *watcher) { w.truth(m, false, true) }})
	}
	if t.Until >= 0 {
		all = append(all, change{max(t.Until, t.From), func(w *watcher) { w.truth(m, false, false) }})
	}
	return all
}

func index(of map[string]int, name string) int {
	i, ok := of[name]
	if !ok {
		i = len(of)
		of[name] = i
	}
	return i
}

func newWatcher(cluster string, observers, members int) *watcher {
	w := &watcher{
		must: make([]bool, members), may: make([]bool, members),
		seen: make([][]bool, observers), active: make([]bool, observers), wrong: make([]int, observers),
		states: make([]map[int]string, observers), count: map[string]int{},
		out: &sight{cluster: cluster, observers: observers, members: members, entries: map[string][]point{}},
	}
	for o := range w.seen {
		w.seen[o], w.states[o] = make([]bool, members), map[int]string{}
	}
	return w
}

// add counts an entry of an active observer, or takes it off the count.
func (w *watcher) add(o, m, n int) {
	missing, dead := w.must[m] && !w.seen[o][m], w.seen[o][m] && !w.may[m]
	if !missing && !dead {
		return
	}
	if missing {
		w.now.missing += n
	} else {
		w.now.dead += n
	}
	before := w.wrong[o]
	w.wrong[o] += n
	switch {
	case before == 0:
		w.now.exact--
	case w.wrong[o] == 0:
		w.now.exact++
	}
}

func (w *watcher) truth(m int, must, may bool) {
	w.each(func(o int) { w.add(o, m, -1) })
	w.must[m], w.may[m] = must, may
	w.each(func(o int) { w.add(o, m, 1) })
}

func (w *watcher) each(f func(o int)) {
	for o, active := range w.active {
		if active {
			f(o)
		}
	}
}

// look notes what an observer now sees of a member. The first look of a life
// makes it active.
func (w *watcher) look(o, m int, state string) {
	if !w.active[o] {
		w.active[o] = true
		w.now.watching++
		w.now.exact++
		for i := range w.must {
			w.add(o, i, 1)
		}
	}
	w.add(o, m, -1)
	w.seen[o][m] = state == "live" || state == "suspect"
	w.add(o, m, 1)
	w.count[w.states[o][m]]--
	w.count[state]++
	w.states[o][m] = state
}

// leave ends an observer's life: the next one begins with an empty view.
func (w *watcher) leave(o int) {
	if !w.active[o] {
		return
	}
	for i := range w.must {
		w.add(o, i, -1)
	}
	w.now.watching--
	w.now.exact--
	w.active[o] = false
	clear(w.seen[o])
	for _, state := range w.states[o] {
		w.count[state]--
	}
	clear(w.states[o])
}

func (w *watcher) record(at time.Duration) {
	w.now.at = at
	w.out.steps = append(w.out.steps, w.now)
	for _, state := range [...]string{"suspect", "ejected", "unreachable"} {
		list := w.out.entries[state]
		if n := w.count[state]; n > 0 || len(list) > 0 {
			if len(list) == 0 || list[len(list)-1].n != n {
				w.out.entries[state] = append(list, point{at, n})
			}
		}
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "slices"

// answer is what a peer says to a lookup.
type answer uint8

const (
	answered answer = iota
	refused         // nobody listens there
	silent          // no answer at all
)

// lookup is the result of walking through the tables towards a target.
type lookup struct {
	found  []*place // closest first, at most width; only such as answered, and the owner
	asked  []*place // everybody who answered
	dead   []*place // everybody who did not
	hung   bool     // at least one of them was silent, not gone
	rounds int      // of questions asked at the same time
}

// parallel is how many peers a lookup asks at the same time.
const parallel = 3

// walk looks for the peers closest to target, from t on, until the closest
// width it has heard of were asked. ask appends what a peer knows to a list.
func walk(t *table, target point, width int, ask func([]*place, *place) ([]*place, answer)) lookup {
	w := walker{target: target, head: target.head(), width: width, self: t.self}
	w.list = t.nearest(make([]*place, 0, width+bucketSize), target, width)
	w.asked = make([]*place, 0, width+parallel)
	var heard []*place
	for {
		round := w.round()
		if len(round) == 0 {
			w.found = w.list
			return w.lookup
		}
		w.rounds++
		heard = heard[:0]
		for _, p := range round {
			var how answer
			heard, how = ask(heard, p)
			w.note(p, how)
		}
		for _, p := range heard {
			w.hear(p)
		}
		w.list = w.list[:min(width, len(w.list))]
	}
}

// walker is a lookup under way.
type walker struct {
	lookup
	target point
	head   uint64
	width  int
	self   *place
	list   []*place // the closest ones heard of, sorted
	next   [parallel]*place
}

// round picks whom to ask next.
func (w *walker) round() []*place {
	round := w.next[:0]
	for _, p := range w.list {
		if p != w.self && !slices.Contains(w.asked, p) {
			if round = append(round, p); len(round) == parallel {
				break
			}
		}
	}
	return round
}

// note takes a peer's answer down.
func (w *walker) note(p *place, how answer) {
	if how == answered {
		w.asked = append(w.asked, p)
		return
	}
	w.dead = append(w.dead, p)
	w.hung = w.hung || how == silent
	w.list = slices.DeleteFunc(w.list, func(o *place) bool { return o == p })
}

// hear adds a peer to the list, if it is among the closest.
func (w *walker) hear(p *place) {
	i := len(w.list)
	for i > 0 && closer(p, w.list[i-1], &w.target, w.head) {
		i--
	}
	if i >= w.width || i > 0 && w.list[i-1] == p || slices.Contains(w.dead, p) {
		return
	}
	if len(w.list) >= w.width {
		w.list = w.list[:w.width-1]
	}
	w.list = slices.Insert(w.list, i, p)
}

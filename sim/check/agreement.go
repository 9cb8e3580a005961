// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// agreement measures how long the views of correct observers are wrong.
type agreement struct {
	took   map[turn]time.Duration // until what it made wrong was right
	ends   map[string][]ended     // node → the lasting faults that hit it, by their ends
	last   time.Duration          // from the last fault until the last wrong moment
	total  int
	wrongs []disagreement // that lasted too long
}

// turn is something that makes views wrong, or lets them be right again.
type turn struct {
	what  turnKind
	index int // of the fault or the life
}

type turnKind uint8

const (
	loss   turnKind = iota // of a node, by a fault
	birth                  // of a life
	relief                 // from a fault
)

type ended struct {
	at    time.Duration
	fault int
}

type disagreement struct {
	finding
	zombie bool
}

func newAgreement(f *facts) agreement {
	a := agreement{took: make(map[turn]time.Duration), ends: make(map[string][]ended)}
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if !disturbs(fault.Do) || !lasts(fault.Do) || undoes(fault) {
			continue
		}
		for _, node := range f.hit(fault) {
			a.ends[node] = append(a.ends[node], ended{f.over(fault), i})
		}
	}
	for _, list := range a.ends {
		slices.SortFunc(list, func(x, y ended) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.fault, y.fault))
		})
	}
	return a
}

func (a *agreement) samples() []time.Duration { return slices.Collect(maps.Values(a.took)) }

func (a *agreement) note(t turn, d time.Duration) { a.took[t] = max(a.took[t], d) }

func (a *agreement) see(f *facts, s *sight) {
	if !s.node.Correct {
		return
	}
	a.joined(f, s)
	for _, w := range s.missing {
		a.wrong(f, s, w, false)
	}
	for _, w := range s.zombie {
		a.wrong(f, s, w, true)
	}
}

// joined notes when the member of a node that came later was live, which is the
// least that it can have taken until views were right.
func (a *agreement) joined(f *facts, s *sight) {
	if s.tenure < 0 || !s.when.covers(s.truth.from) {
		return
	}
	if life := f.life(s.of.Node, s.of.Asked); f.late(life) {
		a.note(turn{birth, life}, minus(s.truth.from, f.h.Nodes[life].From))
	}
}

func (a *agreement) wrong(f *facts, s *sight, w span, zombie bool) {
	a.attribute(f, s, w, zombie)
	// Whoever begins to watch knows nothing at first, which is not the last
	// fault's doing.
	begins := slices.ContainsFunc(s.when, func(o span) bool { return o.from == w.from })
	if w.until > f.lastFault && (!begins || w.from <= f.lastFault) {
		a.last = max(a.last, minus(w.until, f.lastFault))
	}
	if a.tooLong(f, s, w) {
		a.total++
		if len(a.wrongs) < maxFindings {
			a.wrongs = append(a.wrongs, disagreement{s.finding(w), zombie})
		}
	}
}

// tooLong says whether the bound after the last fault is broken, or the view
// was wrong in the end without anything that had happened lately.
func (a *agreement) tooLong(f *facts, s *sight, w span) bool {
	if minus(w.until, max(w.from, f.lastFault)) > f.rules.Converge {
		return true
	}
	if w.until < f.h.End {
		return false
	}
	news := f.lastFault
	for _, t := range [...]time.Duration{s.truth.from, s.truth.until, s.when[len(s.when)-1].from} {
		if t <= f.h.End {
			news = max(news, t)
		}
	}
	return plus(news, f.rules.Converge) < f.h.End
}

// attribute puts a wrong view down to what made it wrong: the loss or the birth
// of the member's node, or faults that ended meanwhile. What another fault held
// up is not counted.
func (a *agreement) attribute(f *facts, s *sight, w span, zombie bool) {
	if s.tenure < 0 {
		return
	}
	observer, member := s.node.Name, s.of.Node
	calm := !f.calm.standing(observer, member, w)
	life, fault := f.life(member, s.of.Asked), f.endedBy[s.tenure]
	switch {
	case calm && zombie && fault >= 0 && w.from == s.truth.until:
		a.note(turn{loss, fault}, minus(w.until, f.h.Faults[fault].At))
	case calm && !zombie && f.late(life) && w.from == s.truth.from:
		a.note(turn{birth, life}, minus(w.until, f.h.Nodes[life].From))
	}
	for _, node := range [...]string{observer, member} {
		list := a.ends[node]
		i, _ := slices.BinarySearchFunc(list, w.from, func(e ended, t time.Duration) int { return cmp.Compare(e.at, t) })
		for ; i < len(list) && list[i].at < w.until; i++ {
			if !f.calm.standing(observer, member, span{list[i].at, w.until}) {
				a.note(turn{relief, list[i].fault}, minus(w.until, list[i].at))
			}
		}
	}
}

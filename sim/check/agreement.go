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

func newAgreement(c *disturbance) agreement {
	a := agreement{took: make(map[turn]time.Duration), ends: make(map[string][]ended)}
	for i := range c.h.Faults {
		fault := &c.h.Faults[i]
		if !disturbs(fault.Do) || !lasts(fault.Do) || Undoes(fault) {
			continue
		}
		for _, node := range c.hit(fault) {
			a.ends[node] = append(a.ends[node], ended{Over(c.h, fault), i})
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

func (a *agreement) see(c *disturbance, s *sight) {
	if !s.node.Correct {
		return
	}
	a.joined(c, s)
	for _, w := range s.missing {
		a.wrong(c, s, w, false)
	}
	for _, w := range s.zombie {
		a.wrong(c, s, w, true)
	}
}

// joined notes when the member of a node that came later was live, which is the
// least that it can have taken until views were right.
func (a *agreement) joined(c *disturbance, s *sight) {
	if s.tenure < 0 || !s.when.covers(s.truth.from) {
		return
	}
	if life := c.lives.at(s.of.Node, s.of.Asked); c.lives.late(life) {
		a.note(turn{birth, life}, minus(s.truth.from, c.h.Nodes[life].From))
	}
}

func (a *agreement) wrong(c *disturbance, s *sight, w span, zombie bool) {
	a.attribute(c, s, w, zombie)
	// Whoever begins to watch knows nothing at first, which is not the last
	// fault's doing.
	begins := slices.ContainsFunc(s.when, func(o span) bool { return o.from == w.from })
	if w.until > c.last && (!begins || w.from <= c.last) {
		a.last = max(a.last, minus(w.until, c.last))
	}
	if a.tooLong(c, s, w) {
		a.total++
		if len(a.wrongs) < maxFindings {
			a.wrongs = append(a.wrongs, disagreement{s.finding(w), zombie})
		}
	}
}

// tooLong says whether the bound after the last fault is broken, or the view
// was wrong in the end without anything that had happened lately.
func (a *agreement) tooLong(c *disturbance, s *sight, w span) bool {
	if minus(w.until, max(w.from, c.last)) > c.rules.Converge {
		return true
	}
	if w.until < c.h.End {
		return false
	}
	news := c.last
	for _, t := range [...]time.Duration{s.truth.from, s.truth.until, s.when[len(s.when)-1].from} {
		if t <= c.h.End {
			news = max(news, t)
		}
	}
	return plus(news, c.rules.Converge) < c.h.End
}

// attribute puts a wrong view down to what made it wrong: the loss or the birth
// of the member's node, or faults that ended meanwhile. What another fault held
// up is not counted.
func (a *agreement) attribute(c *disturbance, s *sight, w span, zombie bool) {
	if s.tenure < 0 {
		return
	}
	observer, member := s.node.Name, s.of.Node
	calm := !c.standing(observer, member, w)
	life, fault := c.lives.at(member, s.of.Asked), c.endedBy[s.tenure]
	switch {
	case calm && zombie && fault >= 0 && w.from == s.truth.until:
		a.note(turn{loss, fault}, minus(w.until, c.h.Faults[fault].At))
	case calm && !zombie && c.lives.late(life) && w.from == s.truth.from:
		a.note(turn{birth, life}, minus(w.until, c.h.Nodes[life].From))
	}
	for _, node := range [...]string{observer, member} {
		list := a.ends[node]
		i, _ := slices.BinarySearchFunc(list, w.from, func(e ended, t time.Duration) int { return cmp.Compare(e.at, t) })
		for ; i < len(list) && list[i].at < w.until; i++ {
			if !c.standing(observer, member, span{list[i].at, w.until}) {
				a.note(turn{relief, list[i].fault}, minus(w.until, list[i].at))
			}
		}
	}
}

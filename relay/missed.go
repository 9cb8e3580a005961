// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// losses are what the subscriptions of one client have missed and were not told
// yet: at most one gap for each reason, so that they are bounded. Pure; the zero
// value is empty.
type losses struct {
	of    map[uint64]patterns.Gaps // by subscription; none is empty
	order []uint64                 // of the subscriptions in of
}

// empty says that all was told.
func (l *losses) empty() bool { return len(l.order) == 0 }

// add takes in that some subscriptions miss something.
func (l *losses) add(ids []uint64, g patterns.Gap) {
	if l.of == nil {
		l.of = make(map[uint64]patterns.Gaps)
	}
	for _, id := range ids {
		if l.of[id] == nil {
			l.order = append(l.order, id)
		}
		l.of[id] = l.of[id].Add(g)
	}
}

// next returns what is to be told next, in one frame to all subscriptions that
// miss the same. told takes it out.
func (l *losses) next() wire.Gap {
	first := l.of[l.order[0]][0]
	g := wire.Gap{
		Missed: first.Missed, Exact: first.Exact, Reason: cmp.Or(gapReasons[first.Reason], wire.GapLost), Publisher: first.From,
	}
	for _, id := range l.order {
		if l.of[id][0] == first {
			g.Subscriptions = append(g.Subscriptions, id)
		}
	}
	return g
}

// told takes out what next has returned.
func (l *losses) told(g *wire.Gap) {
	for _, id := range g.Subscriptions {
		l.of[id] = l.of[id][1:]
		if len(l.of[id]) == 0 {
			delete(l.of, id)
		}
	}
	l.order = slices.DeleteFunc(l.order, func(id uint64) bool { return l.of[id] == nil })
}

// forget takes out what a subscription has missed that is over.
func (l *losses) forget(id uint64) {
	if l.of[id] != nil {
		delete(l.of, id)
		l.order = slices.DeleteFunc(l.order, func(x uint64) bool { return x == id })
	}
}

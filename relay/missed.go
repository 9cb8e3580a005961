// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

// loss is what some subscriptions of a client have missed.
type loss struct {
	count     uint64
	exact     bool
	reason    wire.GapReason
	publisher string // "" = several
}

// losses are what the subscriptions of one client have missed and were not told
// yet: at most one loss for each reason, so that they are bounded. Pure; the zero
// value is empty.
type losses struct {
	of    map[uint64][]loss // by subscription; none is empty
	order []uint64          // of the subscriptions in of
}

// empty says that all was told.
func (l *losses) empty() bool { return len(l.order) == 0 }

// add takes in that some subscriptions miss something.
func (l *losses) add(ids []uint64, x loss) {
	if l.of == nil {
		l.of = make(map[uint64][]loss)
	}
	for _, id := range ids {
		list, ok := l.of[id]
		if !ok {
			l.order = append(l.order, id)
		}
		i := slices.IndexFunc(list, func(y loss) bool { return y.reason == x.reason })
		if i < 0 {
			l.of[id] = append(list, x)
			continue
		}
		y := &list[i]
		y.count += x.count
		y.exact = y.exact && x.exact
		if y.publisher != x.publisher {
			y.publisher = ""
		}
	}
}

// next returns what is to be told next, in one frame to all subscriptions that
// miss the same. told takes it out.
func (l *losses) next() wire.Gap {
	first := l.of[l.order[0]][0]
	g := wire.Gap{Missed: first.count, Exact: first.exact, Reason: first.reason, Publisher: first.publisher}
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// shortly is for how long a fault disturbs that takes a node away for good.
const shortly = 5 * time.Second

// band is a fault as it is drawn, from when to when.
type band struct {
	history.Fault
	from, to  time.Duration
	disturbed time.Duration // until when it disturbs others
}

func (b band) point() bool { return b.to <= b.from }

// bands returns the faults to draw. An action that ends another one is not
// drawn: it is where the other one's band ends.
func bands(h *history.History) []band {
	type end struct {
		at   time.Duration
		node string
	}
	over := map[end]bool{}
	for _, f := range h.Faults {
		if f.Until > f.At {
			for _, n := range f.Nodes {
				over[end{f.Until, n}] = true
			}
		}
	}
	var all []band
	for _, f := range h.Faults {
		if check.Undoes(&f) && f.Until <= f.At && len(f.Nodes) > 0 &&
			!slices.ContainsFunc(f.Nodes, func(n string) bool { return !over[end{f.At, n}] }) {
			continue
		}
		over := check.Over(h, &f)
		b := band{f, f.At, over, over}
		if f.Until < 0 && over == f.At && !check.Undoes(&f) {
			b.to, b.disturbed = max(f.At, h.End), min(f.At+shortly, max(f.At, h.End))
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	return all
}

// looks sorts actions into those that look alike.
func looks(do string) string {
	switch do {
	case "crash", "silence", "stop":
		return "away"
	case "pause":
		return "frozen"
	case "cut", "clog", "degrade", "corrupt", "break":
		return "links"
	case "start", "restart", "resume", "mend", "unclog", "heal":
		return "back"
	}
	return "other"
}

// when says in words when a fault was in effect.
func when(b band) string {
	switch {
	case b.point():
		return "at " + clock(b.from)
	case b.Until < 0:
		return "from " + clock(b.from) + ", never undone"
	}
	return "from " + clock(b.from) + " to " + clock(b.to)
}

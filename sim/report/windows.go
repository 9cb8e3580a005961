// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// Nearby is how long after a fault was injected or undone what happens still
// counts as "during faults".
const Nearby = 5 * time.Second

// ends are the actions that end others. They are not faults of their own, but
// as disturbing.
var ends = []string{"start", "restart", "resume", "mend", "unclog", "heal"}

// lasting are the faults that hit links, clocks, routers or handlers, where the
// end of the safety phase heals what was not undone. The others take a node
// away, to which the rest gets used.
var lasting = []string{"pause", "slow", "cut", "clog", "degrade", "skew", "router", "flood"}

// extent is when a fault was in effect. It is a point for what is over at
// once.
func extent(f history.Fault, h *history.History) (from, to time.Duration) {
	switch {
	case f.Until >= 0:
		return f.At, max(f.At, f.Until)
	case slices.Contains(lasting, f.Do):
		return f.At, max(f.At, h.Safety)
	case slices.Contains(ends, f.Do):
		return f.At, f.At
	}
	return f.At, max(f.At, h.End)
}

// spans are stretches of time, apart from one another and in order.
type spans []span

type span struct {
	from, to time.Duration
}

// windows returns the times that count as "during faults".
func windows(h *history.History) spans {
	var all spans
	for _, f := range h.Faults {
		from, to := extent(f, h)
		if f.Until < 0 && !slices.Contains(lasting, f.Do) {
			to = from // a node that stays away disturbs only at first
		}
		all = append(all, span{from, to + Nearby})
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.from - b.from) })
	var merged spans
	for _, s := range all {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// touch says whether anything of [from, to] lies in one of the spans.
func (s spans) touch(from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(s, from, func(w span, t time.Duration) int {
		if w.to < t {
			return -1
		}
		return 1
	})
	return i < len(s) && s[i].from <= to
}

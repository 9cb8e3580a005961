// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// tunnelLine is what became of the tunnels of one work over time.
type tunnelLine struct {
	work                   string
	tunnels, done, refused int // refused were never opened

	open        []float64 // at most, by bucket
	forth, back []float64 // bytes, by bucket
	total       [2]float64
	ends        []float64 // that were not good, by bucket; the refusals too
	bad         int
}

// tunnelLines sums up the tunnels of each work, in the order of their names.
// Those whose caller's own node was hit are drawn, but did not end badly.
func tunnelLines(a axis, h *history.History) []*tunnelLine {
	lines := map[string]*tunnelLine{}
	of := func(work string) *tunnelLine {
		if lines[work] == nil {
			lines[work] = &tunnelLine{work: work, forth: make([]float64, a.n), back: make([]float64, a.n), ends: make([]float64, a.n)}
		}
		return lines[work]
	}
	lived := map[*tunnelLine][]band{}
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		l := of(t.Work)
		l.tunnels++
		until := t.Ended
		if until < 0 {
			until = a.end
		}
		switch {
		case t.Opened < 0 && !t.Lost:
			l.refused++
		case t.Opened >= 0:
			lived[l] = append(lived[l], band{from: t.Opened, to: until})
		}
		if t.Outcome == "done" {
			l.done++
		} else if !t.Lost {
			l.ends[a.index(until)]++
			l.bad++
		}
	}
	for i := range h.Carried {
		c := &h.Carried[i]
		l := of(c.Work)
		l.total[0] += float64(c.Forth)
		l.total[1] += float64(c.Back)
		a.spread(l.forth, c.At, c.At+history.CarriedEvery, float64(c.Forth))
		a.spread(l.back, c.At, c.At+history.CarriedEvery, float64(c.Back))
	}
	var all []*tunnelLine
	for _, work := range slices.SortedFunc(maps.Keys(lines), natural) {
		lines[work].open = a.inEffect(lived[lines[work]])
		all = append(all, lines[work])
	}
	return all
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// maxTunnelWorks is of how many workloads the tunnels are drawn.
const maxTunnelWorks = 8

// tunnelWork is what became of the tunnels of one workload over time.
type tunnelWork struct {
	work                   string
	tunnels, done, refused int // refused were never opened

	open        []float64 // at most, by bucket
	forth, back []float64 // bytes, by bucket
	total       [2]float64
	ends        []float64 // that were not good, by bucket; the refusals too
	bad         int
}

// tunnelWorks sums up the tunnels of each workload, in the order of their names.
// Those whose caller's own node was hit are drawn, but did not end badly.
func tunnelWorks(a axis, h *history.History) []*tunnelWork {
	works := map[string]*tunnelWork{}
	of := func(work string) *tunnelWork {
		if works[work] == nil {
			works[work] = &tunnelWork{work: work, forth: make([]float64, a.n), back: make([]float64, a.n), ends: make([]float64, a.n)}
		}
		return works[work]
	}
	lived := map[*tunnelWork][]band{}
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		w := of(t.Work)
		w.tunnels++
		until := t.Ended
		if until < 0 {
			until = a.end
		}
		switch {
		case t.Opened < 0 && !t.Lost:
			w.refused++
		case t.Opened >= 0:
			lived[w] = append(lived[w], band{from: t.Opened, to: until})
		}
		if t.Outcome == "done" {
			w.done++
		} else if !t.Lost {
			w.ends[a.index(until)]++
			w.bad++
		}
	}
	for i := range h.Carried {
		c := &h.Carried[i]
		w := of(c.Work)
		w.total[0] += float64(c.Forth)
		w.total[1] += float64(c.Back)
		a.spread(w.forth, c.At, c.At+history.CarriedEvery, float64(c.Forth))
		a.spread(w.back, c.At, c.At+history.CarriedEvery, float64(c.Back))
	}
	var all []*tunnelWork
	for _, work := range slices.SortedFunc(maps.Keys(works), natural) {
		works[work].open = a.inEffect(lived[works[work]])
		all = append(all, works[work])
	}
	return all
}

// tunnelChart is how many tunnels of each workload were open, the bytes that
// came out of them each way, and which did not end well.
func tunnelChart(a axis, h *history.History) chart {
	works := tunnelWorks(a, h)
	c := chart{About: "Open tunnels and their bytes over time", Faults: true}
	c.Caption = "Tunnels that were open, and the bytes of the messages that came out of them, by the time at which they did. " +
		"“Ended badly” are those that broke, were reset or could not be opened, without those whose own caller was stopped, lost or paused." +
		excerpt(maxTunnelWorks, len(works), "workloads")
	bytes := func(label string, values []float64, total float64) row {
		rate := a.perSecond(values)
		return row{Kind: area, Label: label, Note: atMost(rate, "B/s") + ", " + size(total) + " in all", Unit: "B/s", Look: "bulk", Height: 26, Series: one(rate)}
	}
	for _, w := range works[:min(len(works), maxTunnelWorks)] {
		c.Rows = append(c.Rows,
			row{Kind: heading, Label: fmt.Sprintf("%s: %s, of which %s ended well", w.work, plural(w.tunnels, "tunnel"), grouped(w.done))},
			row{Kind: area, Label: "open", Note: atMost(w.open, " at once"), Height: 26, Series: one(w.open)},
			bytes("to the member", w.forth, w.total[0]),
			bytes("to the caller", w.back, w.total[1]),
			row{Kind: marks, Label: "ended badly", Note: fmt.Sprintf("%s, %s of them never opened", grouped(w.bad), grouped(w.refused)), Height: 17, Series: one(w.ends)})
	}
	return c
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// cellRows is into how many steps the latencies of replies are cut.
const cellRows = 52

// latencyChart is how long replies took, by the time of sending, and below them
// the other outcomes and how many were sent.
func latencyChart(a axis, h *history.History) chart {
	c := chart{About: "Latency of replies over time, with the faults", Faults: true}
	if len(h.Requests) == 0 {
		return c
	}
	lost, sent, took := 0, make([]float64, a.n), make([][]time.Duration, a.n)
	bad, counts := map[string][]float64{}, map[string]int{}
	for i := range h.Requests {
		r := &h.Requests[i]
		at := a.index(r.Sent)
		sent[at]++
		if r.Lost {
			lost++
			continue
		}
		o := outcome(r)
		if good(o) {
			took[at] = append(took[at], max(r.Ended-r.Sent, time.Microsecond))
			continue
		}
		if bad[o] == nil {
			bad[o] = make([]float64, a.n)
		}
		bad[o][at]++
		counts[o]++
	}
	replies := percentileRow(took, 260)
	replies.Label, replies.CellRows, replies.Cells = "replies", cellRows, cells(took, replies.Low, replies.High)
	c.Rows = []row{replies}
	for _, o := range byCount(counts) {
		c.Rows = append(c.Rows, row{Kind: marks, Label: words(o), Note: grouped(counts[o]) + " " + words(o), Height: 17, Series: one(bad[o])})
	}
	rate := a.perSecond(sent)
	c.Rows = append(c.Rows, row{Kind: area, Label: "sent", Note: atMost(rate, "/s"), Unit: "/s", Height: 30, Series: one(rate)})
	c.Caption = "Requests by the time at which they were sent, " + inMillis(millis(a.bucket)) + " to a column; latency on a logarithmic scale. " +
		"Below: requests that ended otherwise than with a reply."
	if lost > 0 {
		c.Caption += " Left out: " + plural(lost, "request") + " whose own caller was stopped, lost or paused meanwhile."
	}
	return c
}

// percentileRow is a row with percentiles of what took so long in each bucket,
// which it sorts.
func percentileRow(took [][]time.Duration, height int) row {
	p50, p99 := make([]float64, len(took)), make([]float64, len(took))
	low, high := 0.0, 0.0
	for i, t := range took {
		if len(t) == 0 {
			continue
		}
		slices.Sort(t)
		p50[i], p99[i] = millis(rank(t, 500)), millis(rank(t, 990))
		if first := millis(t[0]); low == 0 || first < low {
			low = first
		}
		high = max(high, millis(t[len(t)-1]))
	}
	low, high = latencyRange(low, high)
	return row{Kind: lines, Unit: "ms", Height: height, Low: low, High: high, Series: []series{{"p99", p99}, {"p50", p50}}}
}

// cells counts the replies of each bucket by steps of their logarithm.
func cells(took [][]time.Duration, low, high float64) (all []int) {
	for i, t := range took {
		var count [cellRows]int
		for _, d := range t {
			part := (math.Log10(millis(d)) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
			count[min(max(int(part*cellRows), 0), cellRows-1)]++
		}
		for step, n := range count {
			if n > 0 {
				all = append(all, i, step, n)
			}
		}
	}
	return all
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// series are the requests, summed up by the time at which they were sent.
type series struct {
	sent     []float64 // requests, by bucket
	p50, p99 []float64 // of replies, in milliseconds; 0 = no reply
	cells    [][]int   // replies by bucket and row of the latency's logarithm
	bad      map[string][]float64
	order    []string // outcomes other than replies, most frequent first
	counts   map[string]int

	low, high float64 // of replies, in milliseconds
}

// gather sums up h's requests in one pass and a sort of each bucket.
func gather(a axis, h *history.History) *series {
	s := &series{sent: make([]float64, a.n), p50: make([]float64, a.n), p99: make([]float64, a.n), bad: map[string][]float64{}, counts: map[string]int{}}
	took := make([][]time.Duration, a.n)
	for i := range h.Requests {
		r := &h.Requests[i]
		at := a.index(r.Sent)
		s.sent[at]++
		if r.Lost {
			continue
		}
		o := outcome(r)
		if good(o) {
			took[at] = append(took[at], max(r.Ended-r.Sent, time.Microsecond))
			continue
		}
		if s.bad[o] == nil {
			s.bad[o] = make([]float64, a.n)
		}
		s.bad[o][at]++
		s.counts[o]++
	}
	s.order = byCount(s.counts)
	s.percentiles(took)
	return s
}

func (s *series) percentiles(took [][]time.Duration) {
	for i, t := range took {
		if len(t) == 0 {
			continue
		}
		slices.Sort(t)
		s.p50[i], s.p99[i] = millis(rank(t, 500)), millis(rank(t, 990))
		low, high := millis(t[0]), millis(t[len(t)-1])
		if s.low == 0 || low < s.low {
			s.low = low
		}
		s.high = max(s.high, high)
	}
	s.low, s.high = latencyRange(s.low, s.high)
	s.cells = make([][]int, len(took))
	for i, t := range took {
		if len(t) > 0 {
			s.cells[i] = make([]int, cellRows)
		}
		for _, d := range t {
			s.cells[i][s.cell(millis(d))]++
		}
	}
}

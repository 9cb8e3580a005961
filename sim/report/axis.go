// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// maxBuckets is into how many stretches of time a run is cut at most, in each
// of which events are summed up.
const maxBuckets = 160

// axis is the run's time, cut into buckets.
type axis struct {
	end    time.Duration
	bucket time.Duration
	n      int // buckets
}

func newAxis(h *history.History) axis {
	end := max(h.End, h.Safety, time.Second)
	bucket := step(end, maxBuckets)
	return axis{end: end, bucket: bucket, n: int((end + bucket - 1) / bucket)}
}

// step returns a readable stretch of time that goes at most n times into a span.
func step(span time.Duration, n int) time.Duration {
	for unit := time.Millisecond; unit < time.Second; unit *= 10 {
		for _, f := range []time.Duration{1, 2, 5} {
			if span/(f*unit) <= time.Duration(n) {
				return f * unit
			}
		}
	}
	for unit := time.Second; unit <= time.Hour; unit *= 60 {
		for _, f := range []time.Duration{1, 2, 5, 10, 15, 30} {
			if span/(f*unit) <= time.Duration(n) {
				return f * unit
			}
		}
	}
	return span / time.Duration(n)
}

// index returns the bucket of a time.
func (a axis) index(t time.Duration) int {
	return min(max(int(t/a.bucket), 0), a.n-1)
}

// until returns a time in milliseconds; "never", which is negative, is the end.
func (a axis) until(t time.Duration) float64 {
	if t < 0 || t > a.end {
		return millis(a.end)
	}
	return millis(t)
}

// perSecond returns what each bucket has as a rate.
func (a axis) perSecond(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / a.bucket.Seconds()
	}
	return out
}

// spread adds an amount to the buckets of a stretch of time.
func (a axis) spread(buckets []float64, from, to time.Duration, amount float64) {
	if amount <= 0 {
		return
	}
	first, last := a.index(from), a.index(to)
	if first == last || to <= from {
		buckets[last] += amount
		return
	}
	for i := first; i <= last; i++ {
		lo, hi := max(from, time.Duration(i)*a.bucket), min(to, time.Duration(i+1)*a.bucket)
		buckets[i] += amount * float64(max(hi-lo, 0)) / float64(to-from)
	}
}

// inEffect returns how many bands there were at once, at most, in each bucket.
func (a axis) inEffect(all []band) []float64 {
	type edge struct {
		at   time.Duration
		step float64
	}
	var edges []edge
	for _, b := range all {
		edges = append(edges, edge{b.from, 1}, edge{max(b.to, b.from+1), -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.step, y.step)) })
	values, now := make([]float64, a.n), 0.0
	for i, e := range edges {
		now += e.step
		if i+1 == len(edges) || edges[i+1].at == e.at {
			continue
		}
		for b := a.index(e.at); b <= a.index(edges[i+1].at-1); b++ {
			values[b] = max(values[b], now)
		}
	}
	return values
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"
)

// sheet collects metrics.
type sheet map[string]Metric

func (s sheet) count(name string, n int) { s[name] = Metric{Value: float64(n), Unit: Count} }

// share sets a part of a whole, if there is a whole.
func (s sheet) share(name string, part, whole int) {
	if whole > 0 {
		s[name] = Metric{Value: 100 * float64(part) / float64(whole), Unit: Percent, Samples: whole}
	}
}

func (s sheet) bytes(name string, n uint64) { s[name] = Metric{Value: float64(n), Unit: Bytes} }

func (s sheet) duration(name string, d time.Duration) {
	s[name] = Metric{Value: millis(d), Unit: Millis}
}

// quantiles sets <name>_p50 and so on, as far as they are metrics, if there are
// samples. It sorts them.
func (s sheet) quantiles(name string, samples []time.Duration) { s.quantilesOf("", name, samples) }

// quantilesOf is quantiles for one work.
func (s sheet) quantilesOf(work, name string, samples []time.Duration) {
	if len(samples) == 0 {
		return
	}
	slices.Sort(samples)
	for _, q := range []struct {
		suffix  string
		percent int
	}{{"_p50", 50}, {"_p90", 90}, {"_p99", 99}, {"_max", 100}} {
		if _, ok := lookup(name + q.suffix); ok {
			s[named(name+q.suffix, work)] = Metric{
				Value: millis(samples[rank(q.percent, len(samples))]), Unit: Millis, Samples: len(samples),
			}
		}
	}
}

// rank is the index of the nearest-rank percentile of n samples in order.
func rank(percent, n int) int { return (percent*n+99)/100 - 1 }

// entry is what a map has under a key: a new one if it had none.
func entry[K comparable, T any](all map[K]*T, key K) *T {
	found := all[key]
	if found == nil {
		found = new(T)
		all[key] = found
	}
	return found
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/arke-mesh/arke/internal/histogram"
	"github.com/arke-mesh/arke/internal/meaning"
)

// Family is one metric: its name, and the names of its labels. The zero value is
// none.
type Family struct {
	desc    *prometheus.Desc
	counter bool
	labels  []*string // in the order of the alphabet, as registries want them
}

// Counter returns the family of a counter; its labels are in the order of the
// alphabet.
func Counter(name string, labels ...string) Family { return family(name, true, labels) }

// Gauge returns the family of a gauge.
func Gauge(name string, labels ...string) Family { return family(name, false, labels) }

// histogramOf returns the family of durations.
func histogramOf(name string, labels ...string) Family { return family(name, false, labels) }

func family(name string, counter bool, labels []string) Family {
	if !slices.IsSorted(labels) {
		panic("BUG: the labels of " + name + " are not sorted")
	}
	f := Family{desc: prometheus.NewDesc(name, meaning.Help(name), labels, nil), counter: counter}
	for _, l := range labels {
		f.labels = append(f.labels, &l)
	}
	return f
}

// sample is one value of a family.
type sample struct {
	of     Family
	values []string // of the labels
	value  float64
}

var _ prometheus.Metric = (*sample)(nil)

// Of returns the metric with that value, and these values of its labels.
func (f Family) Of(value float64, labels ...string) prometheus.Metric {
	return &sample{of: f, value: value, values: labels}
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.of.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(to *dto.Metric) error {
	to.Label = s.of.pairs(s.values)
	if s.of.counter {
		to.Counter = &dto.Counter{Value: &s.value}
	} else {
		to.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// pairs makes the labels of one metric.
func (f Family) pairs(values []string) []*dto.LabelPair {
	pairs := make([]dto.LabelPair, len(values))
	all := make([]*dto.LabelPair, len(values))
	for i := range values {
		pairs[i].Name, pairs[i].Value = f.labels[i], &values[i]
		all[i] = &pairs[i]
	}
	return all
}

// durations is one histogram, native and classic.
type durations struct {
	of     Family
	values []string
	read   func(*histogram.Snapshot)
	limits *limits
}

var _ prometheus.Metric = (*durations)(nil)

// limits are what all histograms share: they do not change.
type limits struct {
	uppers    [histogram.Powers]float64
	schema    int32
	threshold float64
	none      uint64
}

func newLimits() *limits {
	l := &limits{schema: histogram.Schema, threshold: 1e-12}
	for i := range l.uppers {
		l.uppers[i] = histogram.Power(i)
	}
	return l
}

// Desc implements prometheus.Metric.
func (d *durations) Desc() *prometheus.Desc { return d.of.desc }

// Write implements prometheus.Metric.
func (d *durations) Write(to *dto.Metric) error {
	var s histogram.Snapshot
	d.read(&s)
	to.Label = d.of.pairs(d.values)
	h := &dto.Histogram{
		SampleCount: &s.Count, SampleSum: &s.Sum,
		Schema: &d.limits.schema, ZeroThreshold: &d.limits.threshold, ZeroCount: &d.limits.none,
	}
	classic := s.Classic()
	buckets := make([]dto.Bucket, histogram.Powers)
	h.Bucket = make([]*dto.Bucket, histogram.Powers)
	for i := range buckets {
		buckets[i].UpperBound, buckets[i].CumulativeCount = &d.limits.uppers[i], &classic[i]
		h.Bucket[i] = &buckets[i]
	}
	h.PositiveSpan, h.PositiveDelta = native(&s)
	to.Histogram = h
	return nil
}

// native returns the buckets that hold something, as a native histogram has them:
// runs of neighbours, and the difference of each count to the one before.
func native(s *histogram.Snapshot) (spans []*dto.BucketSpan, deltas []int64) {
	end, before := 0, int64(0) // end is the native index behind the last bucket
	for i, n := range s.Counts[:] {
		if n == 0 {
			continue
		}
		at := histogram.First + i
		if len(spans) == 0 || at != end {
			offset, length := int32(at-end), uint32(0)
			spans = append(spans, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, int64(n)-before)
		before, end = int64(n), at+1
	}
	return spans, deltas
}

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

// sample is one value of a family, with what Write shows of it.
type sample struct {
	of      Family
	labels  []*dto.LabelPair
	counter dto.Counter
	gauge   dto.Gauge
	value   float64
}

var _ prometheus.Metric = (*sample)(nil)

// Of returns the metric with that value, and these values of its labels.
func (f Family) Of(value float64, labels ...string) prometheus.Metric {
	return &sample{of: f, value: value, labels: f.pairs(labels...)}
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.of.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(to *dto.Metric) error {
	to.Label = s.labels
	if s.of.counter {
		s.counter.Value, to.Counter = &s.value, &s.counter
	} else {
		s.gauge.Value, to.Gauge = &s.value, &s.gauge
	}
	return nil
}

// pairs makes the labels of one metric. Who reads them does not change them: metrics
// of several families may share them.
func (f Family) pairs(values ...string) []*dto.LabelPair {
	pairs := make([]dto.LabelPair, len(values))
	all := make([]*dto.LabelPair, len(values))
	for i := range values {
		pairs[i].Name, pairs[i].Value = f.labels[i], &values[i]
		all[i] = &pairs[i]
	}
	return all
}

// page is what one scrape sends, a slab of samples at a time: one by one they would be
// half of what a scrape allocates.
type page struct {
	to    chan<- prometheus.Metric
	slab  []sample
	lists []*dto.LabelPair
}

// slabSize is how many samples, and lists of labels, are allocated at once.
const slabSize = 256

// put sends one value. The page keeps labels.
func (p *page) put(f Family, value float64, labels []*dto.LabelPair) {
	if len(p.slab) == 0 {
		p.slab = make([]sample, slabSize)
	}
	s := &p.slab[0]
	p.slab = p.slab[1:]
	s.of, s.value, s.labels = f, value, labels
	p.to <- s
}

// with returns labels and one more behind them.
func (p *page) with(labels []*dto.LabelPair, more *dto.LabelPair) []*dto.LabelPair {
	n := len(labels) + 1
	if len(p.lists) < n {
		p.lists = make([]*dto.LabelPair, slabSize*n)
	}
	all := p.lists[:n:n]
	p.lists = p.lists[n:]
	all[copy(all, labels)] = more
	return all
}

// durations is one histogram, native and classic.
type durations struct {
	of     Family
	labels []*dto.LabelPair
	from   interface{ Took(*histogram.Snapshot) }
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

// shape is what one histogram is written from, in one piece of memory.
type shape struct {
	histogram.Snapshot
	whole   dto.Histogram
	classic [histogram.Powers]uint64
	buckets [histogram.Powers]dto.Bucket
	list    [histogram.Powers]*dto.Bucket
}

// Write implements prometheus.Metric.
func (d *durations) Write(to *dto.Metric) error {
	s := &shape{}
	d.from.Took(&s.Snapshot)
	h := &s.whole
	h.SampleCount, h.SampleSum = &s.Count, &s.Sum
	h.Schema, h.ZeroThreshold, h.ZeroCount = &d.limits.schema, &d.limits.threshold, &d.limits.none
	s.classic = s.Classic()
	for i := range s.buckets {
		s.buckets[i].UpperBound, s.buckets[i].CumulativeCount = &d.limits.uppers[i], &s.classic[i]
		s.list[i] = &s.buckets[i]
	}
	h.Bucket = s.list[:]
	h.PositiveSpan, h.PositiveDelta = native(&s.Snapshot)
	to.Label, to.Histogram = d.labels, h
	return nil
}

// run is a span with what it points to.
type run struct {
	span   dto.BucketSpan
	offset int32
	length uint32
}

// native returns the buckets that hold something, as a native histogram has them:
// runs of neighbours, and the difference of each count to the one before.
func native(s *histogram.Snapshot) (spans []*dto.BucketSpan, deltas []int64) {
	used, gaps := 0, 0
	for i, n := range s.Counts[:] {
		if n > 0 {
			used++
			if i == 0 || s.Counts[i-1] == 0 {
				gaps++
			}
		}
	}
	runs := make([]run, 0, gaps)
	deltas = make([]int64, 0, used)
	end, before := 0, int64(0) // end is the native index behind the last bucket
	for i, n := range s.Counts[:] {
		if n == 0 {
			continue
		}
		at := histogram.First + i
		if len(runs) == 0 || at != end {
			runs = append(runs, run{offset: int32(at - end)})
		}
		runs[len(runs)-1].length++
		deltas = append(deltas, int64(n)-before)
		before, end = int64(n), at+1
	}
	spans = make([]*dto.BucketSpan, len(runs))
	for i := range runs {
		r := &runs[i]
		r.span.Offset, r.span.Length = &r.offset, &r.length
		spans[i] = &r.span
	}
	return spans, deltas
}

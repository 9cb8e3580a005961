// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package histogram

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

func TestABucketEndsWhereItSays(t *testing.T) {
	// This test checks each bound, just below, at, and just above it.
	for i := 1; i < Buckets-1; i++ {
		at := Upper(i)
		below, above := time.Duration(at*1e9*(1-1e-3)), time.Duration(math.Ceil(at*1e9*(1+1e-3)))
		require.Equal(t, i, index(below), "%v", below)
		require.Equal(t, i+1, index(above), "%v", above)
	}
	require.Equal(t, 0, index(1))
	require.Equal(t, Buckets-1, index(time.Hour))
	require.Equal(t, Upper(0), Power(0))
	require.Equal(t, Upper(Buckets-1), Power(Powers-1))
}

func TestItCountsAsPrometheusDoes(t *testing.T) {
	// This test compares with client_golang's own histogram, native and classic,
	// on random durations.
	var h Histogram
	var classic []float64
	for i := range Powers {
		classic = append(classic, Power(i))
	}
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Buckets: classic, NativeHistogramBucketFactor: 1.2, NativeHistogramZeroThreshold: 1e-12})
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		d := time.Duration(math.Exp2(r.Float64()*24 + 11)) // 2 µs to 34 s
		h.Observe(d)
		theirs.Observe(d.Seconds())
	}
	var want dto.Metric
	require.NoError(t, theirs.Write(&want))
	var s Snapshot
	h.Read(&s)
	require.Equal(t, want.Histogram.GetSampleCount(), s.Count)
	require.InEpsilon(t, want.Histogram.GetSampleSum(), s.Sum, 1e-6)
	for i, n := range s.Classic() {
		require.Equal(t, want.Histogram.Bucket[i].GetCumulativeCount(), n, "%v s", Power(i))
	}
	require.EqualValues(t, Schema, want.Histogram.GetSchema())
	native := map[int]uint64{}
	at, count, next := int32(0), int64(0), 0
	for _, span := range want.Histogram.PositiveSpan {
		at += span.GetOffset()
		for range span.GetLength() {
			count += want.Histogram.PositiveDelta[next]
			next++
			native[int(at)] = uint64(count)
			at++
		}
	}
	for i, n := range s.Counts {
		require.Equal(t, native[First+i], n, "bucket %d", i)
	}
}

func TestWhatIsTooLongIsBeyondTheLastBound(t *testing.T) {
	// This test checks that the classic buckets leave out what they do not hold:
	// only the count, which is the bucket without an end, has it.
	var h Histogram
	h.Observe(time.Hour)
	h.Observe(-time.Second)
	var s Snapshot
	h.Read(&s)
	require.EqualValues(t, 2, s.Count)
	require.EqualValues(t, 1, s.Classic()[Powers-1])
}

func TestNothingIsLostBetweenGoroutines(t *testing.T) {
	// This test checks that many may observe at the same time.
	var h Histogram
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				h.Observe(time.Duration(i) * time.Microsecond)
			}
		})
	}
	wg.Wait()
	var s Snapshot
	h.Read(&s)
	require.EqualValues(t, 8000, s.Count)
	require.InEpsilon(t, 8*0.4995, s.Sum, 1e-6)
}

func TestObservingAllocatesNothing(t *testing.T) {
	// This test checks what the hot path pays.
	var h Histogram
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Observe(time.Millisecond) }))
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for i := 0; b.Loop(); i++ {
		h.Observe(time.Duration(i&0xffff) * time.Microsecond)
	}
}

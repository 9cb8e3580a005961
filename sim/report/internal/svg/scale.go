// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"math"
	"time"
)

// Scale puts values of a range on a stretch of the canvas.
type Scale struct {
	from, to   float64 // of the values; their logarithms if log
	start, end float64 // on the canvas
	log        bool
}

// Linear returns a scale on which equal differences are equally far apart.
func Linear(from, to, start, end float64) Scale {
	if to <= from {
		to = from + 1
	}
	return Scale{from: from, to: to, start: start, end: end}
}

// Log returns a scale on which equal ratios are equally far apart; from must
// be more than 0.
func Log(from, to, start, end float64) Scale {
	if to <= from {
		to = from * 10
	}
	return Scale{from: math.Log10(from), to: math.Log10(to), start: start, end: end, log: true}
}

// At returns where v is; values outside of the range are put at its edge.
func (s Scale) At(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, math.SmallestNonzeroFloat64))
	}
	v = min(max(v, s.from), s.to)
	return s.start + (v-s.from)/(s.to-s.from)*(s.end-s.start)
}

// Tick is a labelled place on a scale.
type Tick struct {
	At    float64 // the value
	Label string  // "" = a mark without text
}

// NiceMax returns the smallest of 1, 2, 2.5, 5 times a power of ten that is
// not below v.
func NiceMax(v float64) float64 {
	if v <= 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if v <= f*base*1.0000001 {
			return f * base
		}
	}
	return 10 * base
}

// LogTicks returns the ticks of latencies in milliseconds between two values:
// 1, 2 and 5 times each power of ten, with a label at the powers, or at all
// where there are few.
func LogTicks(from, to float64) []Tick {
	all := math.Log10(to/from) < 3.1
	var ticks []Tick
	for e := math.Floor(math.Log10(from)); e <= math.Log10(to)+0.001; e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			if v < from*0.999 || v > to*1.001 {
				continue
			}
			t := Tick{At: v}
			if f == 1 || all {
				t.Label = Millis(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// steps are the distances of ticks on an axis of time.
var steps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Step returns a readable distance that goes at most n times into a span.
func Step(span time.Duration, n int) time.Duration {
	for _, s := range steps {
		if span/s <= time.Duration(n) {
			return s
		}
	}
	return max(span/time.Duration(max(n, 1)), 1)
}

// TimeTicks returns at most n+1 ticks between 0 and a time, in nanoseconds.
func TimeTicks(to time.Duration, n int) []Tick {
	step := Step(to, n)
	var ticks []Tick
	for at := time.Duration(0); at <= to; at += step {
		ticks = append(ticks, Tick{At: float64(at), Label: clock(at, step)})
	}
	return ticks
}

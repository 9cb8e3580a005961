// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// forever is later than everything.
const forever = time.Duration(math.MaxInt64)

// span is a half-open interval of time.
type span struct{ from, until time.Duration }

func (s span) empty() bool { return s.from >= s.until }

func (s span) length() time.Duration {
	if s.empty() {
		return 0
	}
	return minus(s.until, s.from)
}

func (s span) meet(o span) span { return span{max(s.from, o.from), min(s.until, o.until)} }

// spans are disjoint and in order.
type spans []span

// merged makes spans of any list, which it changes.
func merged(list []span) spans {
	list = slices.DeleteFunc(list, span.empty)
	slices.SortFunc(list, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until))
	})
	out := list[:0]
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].until {
			out[n-1].until = max(out[n-1].until, s.until)
			continue
		}
		out = append(out, s)
	}
	return out
}

// first is the index of the first span that ends after t.
func (s spans) first(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(s, t, func(e span, t time.Duration) int {
		if e.until > t {
			return 1
		}
		return -1
	})
	return i
}

func (s spans) covers(t time.Duration) bool {
	i := s.first(t)
	return i < len(s) && s[i].from <= t
}

func (s spans) touches(o span) bool {
	if o.empty() {
		return s.covers(o.from)
	}
	i := s.first(o.from)
	return i < len(s) && s[i].from < o.until
}

// cut appends to out what of o the spans don't cover.
func (s spans) cut(o span, out []span) []span {
	for i := s.first(o.from); i < len(s) && s[i].from < o.until && !o.empty(); i++ {
		if s[i].from > o.from {
			out = append(out, span{o.from, s[i].from})
		}
		o.from = s[i].until
	}
	if !o.empty() {
		out = append(out, o)
	}
	return out
}

// plus adds without overflow.
func plus(t, d time.Duration) time.Duration {
	if d > 0 && t > forever-d {
		return forever
	}
	if d < 0 && t < math.MinInt64-d {
		return math.MinInt64
	}
	return t + d
}

// minus subtracts without overflow.
func minus(t, d time.Duration) time.Duration {
	if d == math.MinInt64 {
		return forever
	}
	return plus(t, -d)
}

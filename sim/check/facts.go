// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// facts are a history with what measures and checkers need to know of it, each
// part by what it is about. A part knows the history and the parts above it; a
// checker is given the part that it looks at, and no other. They never change
// after newFacts, and take nonsense in a history for granted.
type facts struct {
	lives    *lives
	members  *registrations
	calm     *disturbance
	borders  *borders
	requests *requests
	topics   *topics
	views    *viewMeasures
}

func newFacts(h *history.History, r *Rules) *facts {
	f := &facts{lives: newLives(h)}
	f.members = newRegistrations(f.lives)
	f.calm = newDisturbance(f.members, r)
	f.borders = newBorders(f.members, f.calm)
	f.requests = newRequests(f.borders, r)
	f.topics = newTopics(f.borders, r)
	f.views = newViewMeasures(f.calm)
	(&observers{h, f.lives, f.members}).each(f.views.see)
	return f
}

// alive says whether a view that shows a member in this state takes it to be
// alive. This is the one definition of a right view: it takes every live member
// to be alive, and no dead one.
//
// Live and ejected do. An ejected member answered slowly or with errors, which
// is a judgement about its work and not about its life: it keeps the keys of
// sticky callers, is asked when nobody better is left, and comes back by
// itself. Suspect and unreachable do not. They say that the member may be dead:
// of a live member that is a mistake, of a dead one it is the truth.
func alive(state string) bool { return state == "live" || state == "ejected" }

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

// metrics collects metrics.
type metrics map[string]Metric

func (s metrics) count(name string, n int) { s[name] = Metric{Value: float64(n), Unit: Count} }

// sampled sets a value that is made of samples, if there are any.
func (s metrics) sampled(name string, value float64, unit Unit, samples int) {
	if samples > 0 {
		s[name] = Metric{Value: value, Unit: unit, Samples: samples}
	}
}

// share sets a part of a whole, if there is a whole.
func (s metrics) share(name string, part, whole int) {
	s.sampled(name, 100*float64(part)/float64(whole), Percent, whole)
}

func (s metrics) bytes(name string, n uint64) { s[name] = Metric{Value: float64(n), Unit: Bytes} }

func (s metrics) duration(name string, d time.Duration) {
	s[name] = Metric{Value: millis(d), Unit: Millis}
}

// quantiles sets <name>_p50 and so on, as far as they are metrics, if there are
// samples. It sorts them.
func (s metrics) quantiles(name string, samples []time.Duration) { s.quantilesOf("", name, samples) }

// quantilesOf is quantiles for one work.
func (s metrics) quantilesOf(work, name string, samples []time.Duration) {
	if len(samples) == 0 {
		return
	}
	slices.Sort(samples)
	for _, q := range []struct {
		suffix  string
		percent int
	}{{"_p50", 50}, {"_p90", 90}, {"_p99", 99}, {"_max", 100}} {
		if _, ok := lookup(name + q.suffix); ok {
			s.sampled(named(name+q.suffix, work), millis(Rank(samples, 10*q.percent)), Millis, len(samples))
		}
	}
}

// Rank returns the value that so many of a thousand do not exceed, by nearest
// rank. There must be one.
func Rank[T any](sorted []T, thousandths int) T {
	return sorted[max((len(sorted)*thousandths+999)/1000-1, 0)]
}

// entry is what a map has under a key: a new one if it had none.
func entry[K comparable, T any](all map[K]*T, key K) *T {
	found := all[key]
	if found == nil {
		found = new(T)
		all[key] = found
	}
	return found
}

// Calm tells times in which no fault stood, or had just ended, from the others.
// The metrics latency_calm and latency_fault are made by it.
type Calm struct {
	// After is how long after a fault it is not calm yet.
	After  time.Duration
	faulty spans
}

// NewCalm looks at the faults of a run. It keeps nothing of the history.
func NewCalm(h *history.History, r Rules) Calm {
	c := Calm{After: r.withDefaults().Converge}
	var faulty []span
	for _, fault := range h.Faults {
		if !Undoes(fault) {
			faulty = append(faulty, span{fault.At, plus(Over(h, fault), c.After)})
		}
	}
	c.faulty = merged(faulty)
	return c
}

// Between says whether it was calm from one time until just before another.
func (c Calm) Between(from, until time.Duration) bool {
	return !c.faulty.touches(span{from, until})
}

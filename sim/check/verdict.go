// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// Verdict is what Judge found. It shares nothing with the history.
type Verdict struct {
	OK         bool              `json:"ok"` // every assertion holds, and there are no violations
	Metrics    map[string]Metric `json:"metrics"`
	Assertions []Result          `json:"assertions"`           // in the order of Rules.Assert, then of Rules.Sometimes
	Violations []Violation       `json:"violations"`           // by time, then by checker and text; at most 100 of each checker
	Counts     map[string]int    `json:"counts,omitempty"`     // checker → all its violations, if there are any
	Lost       []Lost            `json:"lost,omitempty"`       // the first 100 messages that were lost, by time; assertions decide whether they may be
	LostCount  int               `json:"lost_count,omitempty"` // how many there are
}

// Metric is a measured value. What could not be measured, such as detection
// times in a run in which nobody died, has no Metric.
type Metric struct {
	Value   float64 `json:"value"` // in Unit
	Unit    Unit    `json:"unit"`
	Samples int     `json:"samples,omitempty"` // how many observations a percentile, a share or a mean is made of
}

// Kinds of assertions.
const (
	Assert    = "assert"
	Sometimes = "sometimes"
)

// Result is how an assertion came out.
type Result struct {
	Text   string `json:"text"`
	Kind   string `json:"kind"`             // assert or sometimes
	Value  string `json:"value"`            // the metric's, for people; "" if there is none
	Reason string `json:"reason,omitempty"` // why it could not be decided, which counts as a failure
	OK     bool   `json:"ok"`
}

// Violation is a broken promise.
type Violation struct {
	Checker string        `json:"checker"` // who found it; see Checkers
	At      time.Duration `json:"at"`      // nanoseconds since the run began
	Text    string        `json:"text"`
}

// keptViolations is how many violations of one checker a verdict lists.
const keptViolations = 100

// violations collects those of one checker.
type violations struct {
	checker string
	total   int
	list    []Violation
}

// add notes a violation. At most so many are kept that the earliest are among
// them if they come roughly in order.
func (d *violations) add(at time.Duration, format string, args ...any) {
	d.total++
	if len(d.list) < 100*keptViolations {
		d.list = append(d.list, Violation{Checker: d.checker, At: at, Text: fmt.Sprintf(format, args...)})
	}
}

func (d *violations) kept() []Violation {
	slices.SortFunc(d.list, compareViolations)
	return d.list[:min(len(d.list), keptViolations)]
}

func compareViolations(a, b Violation) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Checker, b.Checker), cmp.Compare(a.Text, b.Text))
}

// Judge measures a run, looks for broken promises and decides the assertions.
// It changes nothing and keeps nothing of the history, and may be called
// concurrently.
func Judge(h *history.History, r Rules) *Verdict {
	r = r.withDefaults()
	f := newFacts(honest(h), &r)
	v := &Verdict{Metrics: make(map[string]Metric), Counts: make(map[string]int)}
	v.measure(f)
	v.examine(f)
	v.Lost, v.LostCount = lostOf(f)
	v.decide(Assert, r.Assert)
	v.decide(Sometimes, r.Sometimes)
	v.OK = len(v.Violations) == 0 &&
		!slices.ContainsFunc(v.Assertions, func(a Result) bool { return !a.OK })
	return v
}

func (v *Verdict) measure(f *facts) {
	s := metrics(v.Metrics)
	measureRequests(f.requests, s)
	measureGoodput(f.requests, s)
	f.views.measure(s)
	measureReroute(f.requests, f.views.detected, s)
	measureResources(f.lives, s)
	measureHeld(f.calm, s)
	measureFaults(f.calm, s)
	measureActs(f.lives.h, s)
	measureMembers(f.members, s)
	measureShares(f.requests, s)
	measureMany(f.requests, s)
	measureTopics(f.topics, s)
	measureEgress(f.topics, s)
	measureCopies(f.topics, s)
	measureTunnels(f.lives.h, s)
	measureSevered(f.calm, s)
	measureCrossings(f.requests, s)
	measureHops(f.borders, s)
}

func (v *Verdict) examine(f *facts) {
	for _, c := range checkers() {
		d := &violations{checker: c.Name}
		c.check(f, d)
		if d.total > 0 {
			v.Counts[c.Name] = d.total
			v.Violations = append(v.Violations, d.kept()...)
		}
	}
	slices.SortStableFunc(v.Violations, compareViolations)
}

func (v *Verdict) decide(kind string, texts []string) {
	for _, text := range texts {
		v.Assertions = append(v.Assertions, v.decideOne(kind, text))
	}
}

func (v *Verdict) decideOne(kind, text string) Result {
	r := Result{Text: text, Kind: kind}
	a, err := ParseAssertion(text)
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	m, ok := v.Metrics[a.Metric]
	if !ok {
		r.Reason = fmt.Sprintf("there is no %s: nothing in this run could be measured for it", a.Metric)
		return r
	}
	r.Value, r.OK = m.String(), a.Holds(m.Value)
	return r
}

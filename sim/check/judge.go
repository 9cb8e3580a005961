// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// Judge measures a run, looks for broken promises and decides the assertions.
// It changes nothing and keeps nothing of the history, and may be called
// concurrently.
func Judge(h *history.History, r Rules) *Verdict {
	r = r.withDefaults()
	f := newFacts(h, &r)
	v := &Verdict{Metrics: make(map[string]Metric), Counts: make(map[string]int)}
	v.measure(f)
	v.examine(f)
	v.decide(Assert, r.Assert)
	v.decide(Sometimes, r.Sometimes)
	v.OK = len(v.Violations) == 0 &&
		!slices.ContainsFunc(v.Assertions, func(a Result) bool { return !a.OK })
	return v
}

func (v *Verdict) measure(f *facts) {
	s := sheet(v.Metrics)
	measureRequests(f.requests, s)
	measureLatency(f.requests, s)
	f.views.measure(s)
	measureReroute(f.requests, f.views.detected, s)
	measureResources(f.lives, s)
	measureFaults(f.calm, s)
	measureMembers(f.members, s)
	measureShares(f.requests, s)
	measureMany(f.requests, s)
	measureTopics(f.topics, s)
	measureEgress(f.topics, s)
	measureCopies(f.topics, s)
	measureTunnels(f.lives.h, s)
}

func (v *Verdict) examine(f *facts) {
	for _, c := range checkers() {
		d := &docket{checker: c.Name}
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

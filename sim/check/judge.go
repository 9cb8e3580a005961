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
	f := newFacts(h, r.withDefaults())
	v := &Verdict{Metrics: make(map[string]Metric), Counts: make(map[string]int)}
	views := newViewMeasures(f)
	f.sights(views.see)
	v.measure(f, views)
	v.examine(f, views)
	v.decide(Assert, r.Assert)
	v.decide(Sometimes, r.Sometimes)
	v.OK = len(v.Violations) == 0 &&
		!slices.ContainsFunc(v.Assertions, func(a Result) bool { return !a.OK })
	return v
}

func (v *Verdict) measure(f *facts, views *viewMeasures) {
	s := sheet(v.Metrics)
	f.measureRequests(s)
	f.measureLatency(s)
	views.measure(s)
	f.measureReroute(s, views.detected)
	f.measureResources(s)
	f.measureFaults(s)
	f.measureMembers(s)
	f.measureShares(s)
	f.measureMany(s)
	f.measureTopics(s)
	f.measureEgress(s)
	f.measureCopies(s)
	f.measureTunnels(s)
}

func (v *Verdict) examine(f *facts, views *viewMeasures) {
	for _, c := range checkers() {
		d := &docket{checker: c.Name}
		c.check(f, views, d)
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

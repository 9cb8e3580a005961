// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// order decides which scenarios are tried first: a pure core but for its lock.
// It may be used concurrently.
type order struct {
	mu    sync.Mutex
	marks []mark // guarded by mu
}

// mark is what is known of a scenario.
type mark struct {
	scenario string
	catches  int
	runs     int
	took     time.Duration // by all runs
}

func newOrder(scenarios []string) *order {
	o := &order{}
	for _, s := range scenarios {
		o.marks = append(o.marks, mark{scenario: s})
	}
	return o
}

// note takes in a run.
func (o *order) note(scenario string, caught bool, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.marks, func(m mark) bool { return m.scenario == scenario })
	m := &o.marks[i]
	m.runs++
	m.took += took
	if caught {
		m.catches++
	}
}

// best lists the scenarios: first, if there is one of that name, then who caught
// most, then who is quickest, then by name.
func (o *order) best(first string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	sorted := slices.Clone(o.marks)
	slices.SortFunc(sorted, func(a, b mark) int {
		return cmp.Or(
			cmp.Compare(rank(a.scenario, first), rank(b.scenario, first)),
			cmp.Compare(b.catches, a.catches), cmp.Compare(a.mean(), b.mean()), cmp.Compare(a.scenario, b.scenario))
	})
	names := make([]string, len(sorted))
	for i, m := range sorted {
		names[i] = m.scenario
	}
	return names
}

func rank(scenario, first string) int {
	if scenario == first {
		return 0
	}
	return 1
}

func (m mark) mean() time.Duration { return m.took / time.Duration(max(m.runs, 1)) }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Run carries out a scenario with a seed and a bug, "" = none. It may be called
// concurrently. An error means that it could not, which ends the hunt.
type Run func(ctx context.Context, bug, scenario string, seed uint64) (Finding, error)

// Finding is what a run showed.
type Finding struct {
	Checker string // a checker's name, the text of an assertion, "crash", or "start"; "" = everything held
	Text    string // what it said first
	Took    time.Duration
}

// Catch is what became of one bug.
type Catch struct {
	Bug      Bug
	Scenario string  // that caught it; "" = none did
	Seed     uint64  // with which, and so how many seeds it took
	Finding  Finding // of that run
	Runs     int     // until then, or altogether
}

// Caught says whether a scenario caught the bug.
func (c Catch) Caught() bool { return c.Scenario != "" }

// Hunt is the measurement.
type Hunt struct {
	Run       Run
	Scenarios []string
	Bugs      []Bug
	Seeds     int // per bug and scenario: 1, 2, …
	Parallel  int // bugs at a time, default 1

	// First names, by bug, the scenario to begin with: who caught it last time.
	// It saves time and changes no result but the number of runs.
	First map[string]string

	// Note is told of what has just ended, one at a time; may be nil.
	Note func(text string)
}

// Score proves that everything passes without a bug, and returns what became of
// each bug, in the order of Hunt.Bugs.
func (h Hunt) Score(ctx context.Context) ([]Catch, error) {
	o := newOrder(h.Scenarios)
	if err := h.baseline(ctx, o); err != nil {
		return nil, err
	}
	catches := make([]Catch, len(h.Bugs))
	return catches, h.each(ctx, len(h.Bugs), func(ctx context.Context, i int) (text string, err error) {
		catches[i], err = h.hunt(ctx, o, h.Bugs[i])
		return line(catches[i]), err
	})
}

// baseline runs everything without a bug.
func (h Hunt) baseline(ctx context.Context, o *order) error {
	return h.each(ctx, len(h.Scenarios)*h.Seeds, func(ctx context.Context, i int) (string, error) {
		scenario, seed := h.Scenarios[i/h.Seeds], uint64(i%h.Seeds+1)
		f, err := h.Run(ctx, "", scenario, seed)
		switch {
		case err != nil:
			return "", err
		case f.Checker != "":
			return "", fmt.Errorf("mutation: without a bug, %s fails with seed %d: %s: %s", scenario, seed, f.Checker, f.Text)
		}
		o.note(scenario, false, f.Took)
		return fmt.Sprintf("no bug: %s passes with seed %d (%.1f s)", scenario, seed, f.Took.Seconds()), nil
	})
}

// hunt looks for a run that catches the bug.
func (h Hunt) hunt(ctx context.Context, o *order, bug Bug) (Catch, error) {
	c := Catch{Bug: bug}
	for seed := range uint64(h.Seeds) {
		for _, scenario := range o.best(h.First[bug.Name]) {
			f, err := h.Run(ctx, bug.Name, scenario, seed+1)
			if err != nil {
				return c, err
			}
			c.Runs++
			caught := f.Checker != ""
			o.note(scenario, caught, f.Took)
			if caught {
				c.Scenario, c.Seed, c.Finding = scenario, seed+1, f
				return c, nil
			}
		}
	}
	return c, nil
}

// each does so many jobs, Parallel at a time, and stops at the first error.
func (h Hunt) each(ctx context.Context, jobs int, do func(ctx context.Context, i int) (string, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	var noting sync.Mutex
	for range max(h.Parallel, 1) {
		wg.Go(func() {
			for i := range next {
				text, err := do(ctx, i)
				if err != nil {
					cancel(err)
					continue
				}
				noting.Lock()
				if h.Note != nil {
					h.Note(text)
				}
				noting.Unlock()
			}
		})
	}
	for i := range jobs {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

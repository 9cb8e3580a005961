// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/sim/scenario"
)

// Shrink makes failures smaller. Candidates is required.
type Shrink struct {
	// Candidates returns simpler scenarios than s, the boldest first. Each is
	// tried on its own; one that fails like s takes its place.
	Candidates func(s scenario.Scenario) []scenario.Scenario
	// Execute carries out the runs. Default: Process.Run.
	Execute Executor
	// Parallel is how many candidates are tried at a time. The result does not
	// depend on it. Default 1.
	Parallel int
	// MaxRuns bounds the runs. Default 500.
	MaxRuns int
	// MaxTime bounds the time for all runs together. Default 10 minutes.
	MaxTime time.Duration
	// Progress is called after each step; nil = nobody cares.
	Progress func(Step)
}

// Step is how far the shrinking is.
type Step struct {
	Runs    int               // so far
	Smaller int               // how often a candidate took its ancestor's place
	Now     scenario.Scenario // the smallest so far
}

// Shrunk is the smallest failure that was found, and why there is none smaller.
type Shrunk struct {
	Failure  Failure
	Step     Step
	Complete bool // no candidate fails any more; else a bound or ctx ended it
}

// Run looks for a smaller scenario that fails for the same reason as f: by the
// same checker or assertion, with requests that ended in the same way, and with
// everything reached that f reached (its "sometimes"). It first runs f itself:
// if that does not fail like that, there is nothing to shrink, and the second
// result is false. If ctx ends, the result is what was found by then.
func (s Shrink) Run(ctx context.Context, f Failure) (Shrunk, bool, error) {
	s = s.withDefaults()
	out := Shrunk{Failure: f, Step: Step{Runs: 1, Now: f.Scenario}}
	first := one(ctx, s.Execute, f.Job(), nil)
	if _, ok := first.FailsLike(f.Cause); !ok {
		return out, false, first.Err
	}
	like := likenessOf(f.Cause, first)
	ctx, cancel := context.WithTimeout(ctx, s.MaxTime)
	defer cancel()
	for out.Step.Runs < s.MaxRuns && ctx.Err() == nil {
		if !s.round(ctx, like, &out) {
			out.Complete = ctx.Err() == nil && out.Step.Runs < s.MaxRuns
			break
		}
	}
	return out, true, nil
}

func (s Shrink) withDefaults() Shrink {
	if s.Execute == nil {
		s.Execute = Process{}.Run
	}
	if s.MaxRuns <= 0 {
		s.MaxRuns = 500
	}
	if s.MaxTime <= 0 {
		s.MaxTime = 10 * time.Minute
	}
	return s
}

// round tries the candidates of the smallest scenario in order, and says
// whether one of them took its place.
func (s Shrink) round(ctx context.Context, like likeness, out *Shrunk) bool {
	candidates := s.Candidates(out.Step.Now)
	for len(candidates) > 0 && out.Step.Runs < s.MaxRuns && ctx.Err() == nil {
		batch := candidates[:min(max(1, s.Parallel), len(candidates), s.MaxRuns-out.Step.Runs)]
		candidates = candidates[len(batch):]
		smaller := s.try(ctx, batch, like, out)
		s.tell(out.Step)
		if smaller {
			return true
		}
	}
	return false
}

// try runs a few candidates side by side and takes the first that fails like
// the failure does. One that can't be played at all is no smaller failure,
// whatever the reason.
func (s Shrink) try(ctx context.Context, batch []scenario.Scenario, like likeness, out *Shrunk) bool {
	jobs := make([]Job, len(batch))
	for i, c := range batch {
		jobs[i] = Job{Scenario: c, Level: out.Failure.Level, Seed: out.Failure.Seed}
	}
	smaller := false
	All(ctx, s.Execute, jobs, len(jobs), nil, func(_ int, r Result) {
		out.Step.Runs++
		cause, ok := like.fits(r)
		if smaller || !ok {
			return
		}
		if f, err := NewFailure(r); err == nil {
			f.Cause = cause
			smaller = true
			out.Failure = f
			out.Step.Now = f.Scenario
			out.Step.Smaller++
		}
	})
	return smaller
}

func (s Shrink) tell(step Step) {
	if s.Progress != nil {
		s.Progress(step)
	}
}

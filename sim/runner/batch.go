// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
)

// Result is how one job of several ended.
type Result struct {
	Job     Job
	Outcome *Findings // nil if Err is not
	Err     error
}

// crashed is the name of the checker that finds crashes.
const crashed = "crash"

// Causes returns why the run failed: those of its outcome, or that its process
// crashed. None = it passed, or could not be made at all.
func (r Result) Causes() []Cause {
	var child *ChildError
	switch {
	case r.Outcome != nil:
		return r.Outcome.Causes()
	case errors.As(r.Err, &child) && child.Crashed:
		return []Cause{{Checker: crashed, Kind: crashed, Text: child.Text}}
	}
	return nil
}

// FailsLike returns the first cause that is the same as c, if there is one.
func (r Result) FailsLike(c Cause) (Cause, bool) {
	for _, mine := range r.Causes() {
		if mine.Same(c) {
			return mine, true
		}
	}
	return Cause{}, false
}

// All carries out jobs, at most parallel at a time, and calls done for each in
// the order of jobs, as soon as it and those before it have ended; done is
// called by one goroutine. When ctx ends, what has not begun does not begin,
// and its results have ctx's error. progress may be nil; it may be called by
// several goroutines, with the index of the job.
func All(ctx context.Context, exec Executor, jobs []Job, parallel int, progress func(int, Progress), done func(int, Result)) {
	results := make([]chan Result, len(jobs))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, min(parallel, len(jobs))) {
		wg.Go(func() {
			for i := range next {
				results[i] <- one(ctx, exec, jobs[i], func(p Progress) {
					if progress != nil {
						progress(i, p)
					}
				})
			}
		})
	}
	wg.Go(func() {
		defer close(next)
		for i := range jobs {
			next <- i
		}
	})
	for i := range jobs {
		done(i, <-results[i])
	}
	wg.Wait()
}

func one(ctx context.Context, exec Executor, job Job, progress func(Progress)) Result {
	if err := ctx.Err(); err != nil {
		return Result{Job: job, Err: err}
	}
	o, err := exec(ctx, job, progress)
	return Result{Job: job, Outcome: o, Err: err}
}

// Findings is what a run brought. It is never changed once returned.
type Findings struct {
	Info    report.Info
	History *history.History
	Verdict *check.Verdict // nil if Job.Until cut the run short
	Trace   []byte         // the events of Job.Trace, one a line

	// Difference says how the run differs from its repetition, if there was one
	// (Repeat); "" = not at all.
	Difference string
}

// Cause is one reason for which a run fails.
type Cause struct {
	Checker string        `json:"checker"` // a checker's name, the text of an assertion, or "crash"
	Kind    string        `json:"kind"`    // violation, assert, sometimes or crash
	At      time.Duration `json:"at_ns,omitempty"`
	Text    string        `json:"text"`
}

// Same says whether both name the same checker, wherever and whenever it found
// something.
func (c Cause) Same(o Cause) bool { return c.Checker == o.Checker && c.Kind == o.Kind }

// Causes returns why the run fails: violations of the checkers first, then
// assertions that don't hold. None = it passed.
func (o *Findings) Causes() []Cause {
	var causes []Cause
	if o.Verdict == nil {
		return nil
	}
	for _, v := range o.Verdict.Violations {
		causes = append(causes, Cause{Checker: v.Checker, Kind: "violation", At: v.At, Text: v.Text})
	}
	for _, r := range o.Verdict.Assertions {
		if !r.OK {
			causes = append(causes, Cause{Checker: r.Text, Kind: r.Kind, Text: unmet(r)})
		}
	}
	return causes
}

func unmet(r check.Result) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Value != "":
		return "it is " + r.Value
	}
	return "it does not hold"
}

// OK says whether everything held.
func (o *Findings) OK() bool { return o.Verdict == nil || o.Verdict.OK }

// Progress is how far a run is.
type Progress struct {
	Virtual time.Duration // time of the run that has passed
	Whole   time.Duration // that it will take
	Real    time.Duration // time that it took so far
	Events  uint64        // level sim: events so far
}

// Ratio is virtual time per real time.
func (p Progress) Ratio() float64 {
	if p.Real <= 0 {
		return 0
	}
	return float64(p.Virtual) / float64(p.Real)
}

// likeness is what a smaller scenario must share with a failure to count as
// the same one. The name of the checker alone is not enough: "lost == 0" fails
// in any network whose members were left out.
type likeness struct {
	cause     Cause
	sometimes []string        // what the run reached
	bad       map[string]bool // how requests ended that got no answer
}

func likenessOf(c Cause, r Result) likeness {
	l := likeness{cause: c}
	if r.Outcome == nil {
		return l
	}
	l.sometimes = reached(r.Outcome)
	if c.Kind == "assert" {
		l.bad = unanswered(r.Outcome.History)
	}
	return l
}

// fits returns the cause for which a candidate's run fails like the failure,
// if it does.
func (l likeness) fits(r Result) (Cause, bool) {
	cause, ok := r.FailsLike(l.cause)
	if !ok || r.Outcome == nil {
		return cause, ok
	}
	still := reached(r.Outcome)
	if slices.ContainsFunc(l.sometimes, func(text string) bool { return !slices.Contains(still, text) }) {
		return Cause{}, false
	}
	if len(l.bad) == 0 {
		return cause, true
	}
	for outcome := range unanswered(r.Outcome.History) {
		if l.bad[outcome] {
			return cause, true
		}
	}
	return Cause{}, false
}

// reached lists the "sometimes" assertions that hold.
func reached(o *Findings) []string {
	var texts []string
	if o.Verdict == nil {
		return nil
	}
	for _, a := range o.Verdict.Assertions {
		if a.Kind == "sometimes" && a.OK {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

// unanswered is the set of outcomes that are no answer of a handler.
func unanswered(h *history.History) map[string]bool {
	bad := map[string]bool{}
	if h == nil {
		return bad
	}
	for _, r := range h.Requests {
		if !r.Lost && r.Work != "probe" && !check.Good(r.Outcome) && r.Outcome != "refused" {
			bad[r.Outcome] = true
		}
	}
	return bad
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"sync"
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

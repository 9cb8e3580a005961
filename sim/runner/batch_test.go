// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/runner"
)

func TestResultsComeInTheOrderOfTheJobs(t *testing.T) {
	// This test checks that no more runs than allowed are under way, that all
	// of that number are, and that a fast run waits for a slow one before it.
	for parallel := 1; parallel <= 4; parallel++ {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				under, most := make(chan int, 1), 0
				under <- 0
				exec := func(_ context.Context, job runner.Job, _ func(runner.Progress)) (*runner.Findings, error) {
					n := <-under + 1
					most = max(most, n)
					under <- n
					time.Sleep(time.Duration(10-job.Seed) * time.Second)
					under <- <-under - 1
					return &runner.Findings{}, nil
				}
				var jobs []runner.Job
				for seed := uint64(1); seed <= 8; seed++ {
					jobs = append(jobs, runner.Job{Seed: seed})
				}
				var order []uint64
				runner.All(t.Context(), exec, jobs, parallel, nil, func(i int, r runner.Result) {
					require.NoError(t, r.Err)
					require.Equal(t, jobs[i].Seed, r.Job.Seed)
					order = append(order, r.Job.Seed)
				})
				require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, order)
				require.Equal(t, parallel, most)
			})
		})
	}
}

func TestCanceledJobsDoNotBegin(t *testing.T) {
	// This test checks that the end of the context reaches the run under way
	// and keeps the others from beginning, and that each has its result.
	ctx, cancel := context.WithCancel(t.Context())
	began := 0
	exec := func(ctx context.Context, _ runner.Job, _ func(runner.Progress)) (*runner.Findings, error) {
		began++
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ended := 0
	runner.All(ctx, exec, make([]runner.Job, 5), 1, nil, func(_ int, r runner.Result) {
		ended++
		require.ErrorIs(t, r.Err, context.Canceled)
		require.Empty(t, r.Causes())
	})
	require.Equal(t, 5, ended)
	require.Equal(t, 1, began)
}

func TestCrashesAreAReasonToFail(t *testing.T) {
	// This test checks that a crash is a cause like what a checker finds, and
	// that an error of another kind is not.
	crash := runner.Result{Err: &runner.ChildError{Text: "boom", Crashed: true}}
	require.Equal(t, []runner.Cause{{Checker: "crash", Kind: "crash", Text: "boom"}}, crash.Causes())
	_, same := crash.FailsLike(runner.Cause{Checker: "crash", Kind: "crash", Text: "another"})
	require.True(t, same)
	for _, err := range []error{&runner.ChildError{Text: "no such handler"}, errors.New("no space left")} {
		require.Empty(t, runner.Result{Err: err}.Causes())
	}
}

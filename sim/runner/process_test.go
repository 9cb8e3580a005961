// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
)

func TestChildrenGiveTheSameRunTwice(t *testing.T) {
	// This test checks the whole way of a job at level sim: a child plays,
	// judges and answers, two of them alike, with the assertion that fails, and
	// nothing is printed here.
	var seen []runner.Progress
	o, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: parsed(t, small)}, func(p runner.Progress) { seen = append(seen, p) })
	require.NoError(t, err)
	require.False(t, o.OK())
	require.Equal(t, "lost == 0", o.Causes()[0].Checker)
	require.Len(t, o.Causes(), 1)
	require.Len(t, o.Info.TraceHash, 16)
	require.NotZero(t, o.Info.Events)
	require.NotZero(t, o.Info.MemoryPeak)
	require.Len(t, o.Info.Checkpoints, int(o.Info.Events/1000))
	require.NotEmpty(t, o.History.Requests)
	for _, p := range seen {
		require.LessOrEqual(t, p.Virtual, time.Minute)
	}

	again, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: parsed(t, small)}, nil)
	require.NoError(t, err)
	require.Empty(t, runner.Difference(o, again))

	other, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Seed: 2}, nil)
	require.NoError(t, err)
	require.Contains(t, runner.Difference(o, other), "they part")
}

func TestChildrenCompareRecordedRuns(t *testing.T) {
	// This test checks that the first different event is named, and that equal
	// jobs have none.
	job := runner.Job{Scenario: parsed(t, small)}
	text, err := runner.Process{}.Compare(t.Context(), job, job)
	require.NoError(t, err)
	require.Empty(t, text)

	other := job
	other.Scenario = parsed(t, strings.Replace(small, "at: 1s, do: crash", "at: 1001ms, do: crash", 1))
	text, err = runner.Process{}.Compare(t.Context(), job, other)
	require.NoError(t, err)
	require.Contains(t, text, "first difference at event")
	require.Contains(t, text, "crash")
}

func TestRunsStopWhenToldTo(t *testing.T) {
	// This test checks Until, which gives no verdict, and Trace, which returns
	// the events of one node only.
	o, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Until: 1200 * time.Millisecond, Trace: "m2"}, nil)
	require.NoError(t, err)
	require.Nil(t, o.Verdict)
	require.Empty(t, o.Causes())
	require.Less(t, o.History.End-o.History.Start, 1300*time.Millisecond)
	lines := bytes.Split(bytes.TrimSpace(o.Trace), []byte("\n"))
	require.Greater(t, len(lines), 100)
	for _, line := range lines {
		require.Contains(t, string(line), " m2")
	}
}

func TestLevelStackRunsInAChild(t *testing.T) {
	// This test checks the bubble around the real libp2p. On one processor:
	// timers of bubbles confuse the race detector if there are two (Go issue
	// 78156).
	if testing.Short() {
		t.Skip("takes a moment")
	}
	o, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Level: runner.LevelStack, Procs: 1}, nil)
	require.NoError(t, err)
	require.Empty(t, o.Info.TraceHash)
	require.Equal(t, runner.LevelStack, o.Info.Level)
	require.NotEmpty(t, o.History.Requests)
}

func TestPlayersErrorsAreNoCrashes(t *testing.T) {
	// This test checks that what a scenario asks for in vain is told as such.
	s := parsed(t, strings.Replace(small, "{kind: slow, work: 20ms}", "{kind: go, name: mine}", 1))
	_, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: s}, nil)
	var child *runner.ChildError
	require.ErrorAs(t, err, &child)
	require.False(t, child.Crashed)
	require.Contains(t, child.Text, "mine")
}

func TestHangsEndWithStacks(t *testing.T) {
	// This test checks the watchdog: where virtual time stands still for too
	// long, the child says so and leaves the stacks.
	s := parsed(t, strings.Replace(small, "count: 3", "count: 200", 1))
	_, err := runner.Process{}.Run(t.Context(), runner.Job{Scenario: s, Watchdog: 4 * time.Millisecond}, nil)
	var child *runner.ChildError
	require.ErrorAs(t, err, &child)
	require.True(t, child.Crashed)
	require.Contains(t, child.Text, "hangs: no progress for 4ms")
	require.Contains(t, string(child.Output), "goroutine ")
}

func TestCanceledChildrenEnd(t *testing.T) {
	// This test checks that the end of the context ends a run under way soon,
	// with the context's error.
	s := parsed(t, strings.Replace(strings.Replace(small, "duration: 2s", "duration: 30m", 1), "count: 3", "count: 30", 1))
	ctx, cancel := context.WithCancel(t.Context())
	var canceled time.Time
	_, err := runner.Process{}.Run(ctx, runner.Job{Scenario: s}, func(runner.Progress) {
		if canceled.IsZero() {
			canceled = time.Now()
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(canceled), 20*time.Second)
}

func TestChildrenThatDieAreCrashes(t *testing.T) {
	// This test checks what becomes of a child that panics, exits, is killed,
	// or does not start.
	sh := func(script string) error {
		_, err := runner.Process{Command: []string{"/bin/sh", "-c", script}}.Run(t.Context(), runner.Job{Scenario: parsed(t, small)}, nil)
		return err
	}
	for script, says := range map[string]string{
		"echo 'panic: boom' >&2; echo more; exit 2": "the run crashed: panic: boom",
		"echo 'fatal error: all asleep'; exit 2":    "the run crashed: fatal error: all asleep",
		"exit 3":                                    "exit status 3",
		"kill -9 $$":                                "killed",
		"exit 0":                                    "without an outcome",
		"head -c 100 /dev/zero >&3; cat >/dev/null & :": "without an outcome",
	} {
		err := sh(script)
		var child *runner.ChildError
		require.ErrorAs(t, err, &child, script)
		require.True(t, child.Crashed, script)
		require.Contains(t, child.Text, says, script)
	}
	_, err := runner.Process{Command: []string{filepath.Join(t.TempDir(), "none")}}.Run(t.Context(), runner.Job{Scenario: parsed(t, small)}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOutputOfChildrenIsBounded(t *testing.T) {
	// This test checks that of what a child prints the end is kept.
	script := "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1"
	_, err := runner.Process{Command: []string{"/bin/sh", "-c", script}}.Run(t.Context(), runner.Job{Scenario: parsed(t, small)}, nil)
	var child *runner.ChildError
	require.ErrorAs(t, err, &child)
	require.LessOrEqual(t, len(child.Output), 1<<20)
	require.True(t, strings.HasSuffix(string(child.Output), "the end\n"))
}

// runs is an executor that returns one outcome after the other.
func runs(outcomes ...*runner.Findings) runner.Executor {
	return func(context.Context, runner.Job, func(runner.Progress)) (*runner.Findings, error) {
		o := outcomes[0]
		outcomes = outcomes[1:]
		return o, nil
	}
}

func traced(hash string, events uint64, checkpoints ...uint64) *runner.Findings {
	return &runner.Findings{Info: report.Info{TraceHash: hash, Events: events, Checkpoints: checkpoints}, History: &history.History{}}
}

func TestRepetitionSaysWhereRunsPart(t *testing.T) {
	// This test checks that runs are compared by their running hash, event
	// count and history, and where a difference is looked for.
	other := traced("a", 2500, 7, 8)
	other.History = &history.History{Start: time.Second, Requests: []history.Request{{ID: 3}}}
	for name, tc := range map[string]struct {
		a, b *runner.Findings
		says []string // empty = the runs are the same
	}{
		"same":          {traced("a", 2500, 7, 8), traced("a", 2500, 7, 8), nil},
		"last thousand": {traced("a", 2500, 7, 8), traced("b", 2500, 7, 8), []string{"after event 2000", "trace a", "trace b", "exactly here"}},
		"second":        {traced("a", 2500, 7, 8), traced("b", 2400, 7, 9), []string{"after event 1000", "2400 events", "exactly here"}},
		"longer":        {traced("a", 1000, 7), traced("a", 1001, 7), []string{"after event 1000", "1001"}},
		"history":       {traced("a", 2500, 7, 8), other, []string{"Start: 0s against 1s", "Requests: 0 against 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			compared := 0
			compare := func(context.Context, runner.Job, runner.Job) (string, error) {
				if compared++; compared < 3 {
					return "", nil
				}
				return "exactly here", nil
			}
			o, err := runner.Repeat(runs(tc.a, tc.b), compare)(t.Context(), runner.Job{}, nil)
			require.NoError(t, err)
			if len(tc.says) == 0 {
				require.Empty(t, o.Difference)
				require.Zero(t, compared)
				return
			}
			for _, text := range tc.says {
				require.Contains(t, o.Difference, text)
			}
			require.Equal(t, 3, compared)
			require.Empty(t, tc.a.Difference, "outcomes are never changed")
		})
	}
}

func TestRepetitionAdmitsThatItDoesNotKnow(t *testing.T) {
	// This test checks the text for a difference that hides from recording.
	compare := func(context.Context, runner.Job, runner.Job) (string, error) { return "", nil }
	o, err := runner.Repeat(runs(traced("a", 1), traced("b", 1)), compare)(t.Context(), runner.Job{}, nil)
	require.NoError(t, err)
	require.Contains(t, o.Difference, "3 recorded repetitions were the same")
}

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

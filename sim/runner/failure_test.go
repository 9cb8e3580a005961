// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

func TestReplayFileHoldsTheExpandedRun(t *testing.T) {
	// This test checks that a failure survives its file: the same job, with
	// every action spelled out, and the command that runs it.
	o := judged(false, true, "interrupted")
	o.Info.TraceHash, o.Info.Events = "00c0ffee00c0ffee", 12345
	f, err := runner.NewFailure(runner.Result{Job: runner.Job{Scenario: parsed(t, small), Seed: 9}, Outcome: o})
	require.NoError(t, err)
	require.Equal(t, "fail-00c0ffee00c0ffee.json", f.File())

	path, err := f.Write(t.TempDir())
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, runner.IsFailure(data))
	got, err := runner.ParseFailure(path, data)
	require.NoError(t, err)

	require.Equal(t, "arke sim replay "+path, got.Replay)
	require.Equal(t, "00c0ffee00c0ffee", got.TraceHash)
	require.Equal(t, runner.Cause{Checker: "lost == 0", Kind: "assert", Text: "it is 1"}, got.Cause)
	var do []string
	for _, a := range got.Scenario.Timeline {
		do = append(do, a.Do)
	}
	require.Equal(t, []string{"pause", "resume", "crash"}, do)

	before, err := f.Job().Prepare()
	require.NoError(t, err)
	after, err := got.Job().Prepare()
	require.NoError(t, err)
	require.Equal(t, uint64(9), after.Scenario.Seed)
	a, err := json.Marshal(before)
	require.NoError(t, err)
	b, err := json.Marshal(after)
	require.NoError(t, err)
	require.JSONEq(t, string(a), string(b))
}

func TestFailuresWithoutATraceHaveNamesToo(t *testing.T) {
	// This test checks that the files of two failures at a level without
	// traces have different names, and that of one always the same.
	name := func(text string) string {
		f, err := runner.NewFailure(runner.Result{Job: runner.Job{Scenario: parsed(t, text), Level: runner.LevelStack}, Outcome: judged(false, true, "interrupted")})
		require.NoError(t, err)
		return f.File()
	}
	require.Equal(t, name(small), name(small))
	require.NotEqual(t, name(small), name(strings.Replace(small, "rate: 200", "rate: 201", 1)))
}

func TestReplayFilesAreReadStrictly(t *testing.T) {
	// This test checks that a file which is no replay file, or a broken one,
	// is refused with its name and what is wrong.
	path, err := failure(t).Write(t.TempDir())
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	good := string(data)
	for name, tc := range map[string]struct{ from, to, says string }{
		"another format":   {`"arke sim failure 1"`, `"arke sim failure 9"`, "is not a replay file"},
		"cut off":          {good[len(good)/2:], "", "is not a replay file"},
		"unknown field":    {`"seed": 1,`, `"seed": 1, "colour": 3,`, "colour"},
		"unknown action":   {`"do": "pause"`, `"do": "dance"`, "dance"},
		"impossible value": {`"duration": "2s"`, `"duration": "-2s"`, "duration"},
		"no cause":         {`"checker": "lost == 0"`, `"checker": ""`, "what failed"},
	} {
		t.Run(name, func(t *testing.T) {
			bent := strings.Replace(good, tc.from, tc.to, 1)
			require.NotEqual(t, good, bent)
			_, err := runner.ParseFailure("mine.json", []byte(bent))
			require.ErrorIs(t, err, runner.ErrScenario)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, "mine.json")
		})
	}
}

func TestPassedRunsMakeNoReplayFile(t *testing.T) {
	// This test checks that a failure can't be made of a success.
	_, err := runner.NewFailure(runner.Result{Job: runner.Job{Scenario: parsed(t, small)}, Outcome: judged(true, true, "reply")})
	require.Error(t, err)
}

func FuzzReplayFile(f *testing.F) {
	good, err := os.ReadFile(filepath.Join("testdata", "fail.json"))
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`{"format":"arke sim failure 1","cause":{"checker":"x"},"scenario":{}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		failure, err := runner.ParseFailure("x.json", data)
		if err != nil {
			require.ErrorIs(t, err, runner.ErrScenario)
			return
		}
		// What was read can be written and read again.
		path, err := failure.Write(t.TempDir())
		require.NoError(t, err)
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = runner.ParseFailure("x.json", again)
		require.NoError(t, err)
	})
}

func TestJobsAreRefusedBeforeTheyRun(t *testing.T) {
	// This test checks that Prepare says what is not possible, and which of
	// the two kinds of error it is.
	only := parsed(t, small+"levels: [sim]\n")
	for name, tc := range map[string]struct {
		job  runner.Job
		is   error
		says string
	}{
		"level":       {runner.Job{Scenario: only, Level: "moon"}, runner.ErrLevel, "moon"},
		"excluded":    {runner.Job{Scenario: only, Level: "net"}, runner.ErrLevel, "small runs at sim, not at net"},
		"no trace":    {runner.Job{Scenario: parsed(t, small), Level: "stack", Trace: "m1"}, runner.ErrLevel, "only level sim has a trace"},
		"no scenario": {runner.Job{}, runner.ErrScenario, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.job.Prepare()
			require.ErrorIs(t, err, tc.is)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestProgressHasARatio(t *testing.T) {
	// This test checks virtual time per real time, also before any has passed.
	require.Zero(t, runner.Progress{Virtual: time.Second}.Ratio())
	require.InDelta(t, 2.5, runner.Progress{Virtual: 5 * time.Second, Real: 2 * time.Second}.Ratio(), 1e-9)
}

// judged is an outcome with the results of two assertions, and one request
// that ended so.
func judged(lostNone, crashed bool, outcome string) *runner.Findings {
	return &runner.Findings{
		History: &history.History{Requests: []history.Request{{Outcome: outcome}}},
		Verdict: &check.Verdict{OK: lostNone && crashed, Assertions: []check.Result{
			{Text: "lost == 0", Kind: check.Assert, OK: lostNone, Value: "1"},
			{Text: "crashes == 1", Kind: check.Sometimes, OK: crashed},
		}},
	}
}

// crashOf is an executor for which requests get lost if and only if m2
// crashes, and are told that there are no members if there are none.
func crashOf(node string, runs *int) runner.Executor {
	return func(_ context.Context, job runner.Job, _ func(runner.Progress)) (*runner.Findings, error) {
		*runs++
		hit := slices.ContainsFunc(job.Scenario.Timeline, func(a scenario.Action) bool {
			return a.Do == "crash" && slices.Contains(a.Nodes, node)
		})
		if !hit && len(job.Scenario.Nodes) < 2 {
			return judged(false, false, "no_members"), nil
		}
		return judged(!hit, hit, map[bool]string{true: "interrupted", false: "reply"}[hit]), nil
	}
}

// failure is the one of scenario small.
func failure(t *testing.T) runner.Failure {
	t.Helper()
	f, err := runner.NewFailure(runner.Result{Job: runner.Job{Scenario: parsed(t, small)}, Outcome: judged(false, true, "interrupted")})
	require.NoError(t, err)
	return f
}

func TestShrinkKeepsWhatTheFailureNeeds(t *testing.T) {
	// This test checks that shrinking leaves one action, of the node that has
	// to crash, that it stops because nothing smaller fails, and that it goes
	// the same way however many candidates run at a time.
	var first runner.Shrunk
	for _, parallel := range []int{1, 3} {
		n := 0
		shrink := runner.Shrink{Candidates: scenario.Smaller, Execute: serial(crashOf("m2", &n)), Parallel: parallel}
		got, fails, err := shrink.Run(t.Context(), failure(t))
		require.NoError(t, err)
		require.True(t, fails)
		require.True(t, got.Complete)
		require.Len(t, got.Failure.Scenario.Timeline, 1)
		require.Equal(t, "crash", got.Failure.Scenario.Timeline[0].Do)
		require.Equal(t, []string{"m2"}, got.Failure.Scenario.Timeline[0].Nodes)
		require.Less(t, got.Failure.Scenario.Duration, failure(t).Scenario.Duration)
		require.Equal(t, "lost == 0", got.Failure.Cause.Checker)
		require.Equal(t, n, got.Step.Runs)
		if parallel == 1 {
			first = got
		}
		require.Equal(t, first.Failure, got.Failure)
	}
}

// serial keeps an executor from being called by two goroutines at a time.
func serial(exec runner.Executor) runner.Executor {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, job runner.Job, p func(runner.Progress)) (*runner.Findings, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		return exec(ctx, job, p)
	}
}

func TestShrinkDoesNotSlipToAnotherFailure(t *testing.T) {
	// This test checks what counts as the same failure: the same assertion is
	// not enough if requests ended in another way, or if the run does not
	// reach what the first one did.
	for name, candidate := range map[string]*runner.Findings{
		"other outcome": judged(false, true, "no_members"),
		"not reached":   judged(false, false, "interrupted"),
		"it passes":     judged(true, true, "reply"),
		"other checker": {Verdict: &check.Verdict{Violations: []check.Violation{{Checker: "zombies"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := failure(t)
			shrink := runner.Shrink{
				Candidates: func(s scenario.Scenario) []scenario.Scenario { return []scenario.Scenario{s} },
				Execute:    runs(judged(false, true, "interrupted"), candidate),
			}
			got, fails, err := shrink.Run(t.Context(), f)
			require.NoError(t, err)
			require.True(t, fails)
			require.True(t, got.Complete)
			require.Zero(t, got.Step.Smaller)
			require.Equal(t, f, got.Failure)
		})
	}
}

func TestShrinkFollowsACrash(t *testing.T) {
	// This test checks that a scenario under which the program crashes is
	// made smaller, too.
	crash := &runner.ChildError{Text: "panic", Crashed: true}
	exec := func(_ context.Context, job runner.Job, _ func(runner.Progress)) (*runner.Findings, error) {
		if len(job.Scenario.Timeline) > 0 {
			return nil, crash
		}
		return judged(true, true, "reply"), nil
	}
	f, err := runner.NewFailure(runner.Result{Job: runner.Job{Scenario: parsed(t, small)}, Err: crash})
	require.NoError(t, err)
	got, fails, err := runner.Shrink{Candidates: scenario.Smaller, Execute: exec}.Run(t.Context(), f)
	require.NoError(t, err)
	require.True(t, fails)
	require.Len(t, got.Failure.Scenario.Timeline, 1)
	require.Equal(t, "crash", got.Failure.Cause.Checker)
}

func TestShrinkHasBounds(t *testing.T) {
	// This test checks that a search that could go on for ever ends after so
	// many runs, and with its context, and says that there may be more.
	endless := func(s scenario.Scenario) []scenario.Scenario { return []scenario.Scenario{s, s, s} }
	n := 0
	shrink := runner.Shrink{Candidates: endless, Execute: crashOf("m2", &n), MaxRuns: 20}
	got, fails, err := shrink.Run(t.Context(), failure(t))
	require.NoError(t, err)
	require.True(t, fails)
	require.False(t, got.Complete)
	require.Equal(t, 20, n)

	ctx, cancel := context.WithCancel(t.Context())
	n = 0
	shrink.Progress = func(step runner.Step) {
		if step.Runs == 5 {
			cancel()
		}
	}
	got, _, err = shrink.Run(ctx, failure(t))
	require.NoError(t, err)
	require.False(t, got.Complete)
	require.Equal(t, 5, n)
}

func TestShrinkNeedsAFailure(t *testing.T) {
	// This test checks that nothing is tried if the failure is gone, or if it
	// can't be run.
	n := 0
	_, fails, err := runner.Shrink{Candidates: scenario.Smaller, Execute: crashOf("nobody", &n)}.Run(t.Context(), failure(t))
	require.NoError(t, err)
	require.False(t, fails)
	require.Equal(t, 1, n)

	broken := errors.New("no space left")
	exec := func(context.Context, runner.Job, func(runner.Progress)) (*runner.Findings, error) { return nil, broken }
	_, _, err = runner.Shrink{Candidates: scenario.Smaller, Execute: exec}.Run(t.Context(), failure(t))
	require.ErrorIs(t, err, broken)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/runner"
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

	again, err := runner.Run(t.Context(), runner.Job{Scenario: parsed(t, small)})
	require.NoError(t, err)
	require.Empty(t, runner.Difference(o, again))

	other, err := runner.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Seed: 2})
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
	o, err := runner.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Until: 1200 * time.Millisecond, Trace: "m2"})
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
	o, err := runner.Run(t.Context(), runner.Job{Scenario: parsed(t, small), Level: runner.LevelStack, Procs: 1})
	require.NoError(t, err)
	require.Empty(t, o.Info.TraceHash)
	require.Equal(t, runner.LevelStack, o.Info.Level)
	require.NotEmpty(t, o.History.Requests)
}

func TestPlayersErrorsAreNoCrashes(t *testing.T) {
	// This test checks that what a scenario asks for in vain is told as such.
	s := parsed(t, strings.Replace(small, "{kind: slow, work: 20ms}", "{kind: go, name: mine}", 1))
	_, err := runner.Run(t.Context(), runner.Job{Scenario: s})
	var child *runner.ChildError
	require.ErrorAs(t, err, &child)
	require.False(t, child.Crashed)
	require.Contains(t, child.Text, "mine")
}

func TestHangsEndWithStacks(t *testing.T) {
	// This test checks the watchdog: where virtual time stands still for too
	// long, the child says so and leaves the stacks.
	s := parsed(t, strings.Replace(small, "count: 3", "count: 200", 1))
	_, err := runner.Run(t.Context(), runner.Job{Scenario: s, Watchdog: 4 * time.Millisecond})
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

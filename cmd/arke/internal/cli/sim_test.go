// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/runner"
)

const simSmall = `
name: small
duration: 2s
levels: [sim, stack]
nodes: [{name: m, count: 2}, {name: c}]
clusters: [{name: echo, members: [m], handler: {kind: echo}}]
workload: [{kind: request, from: [c], to: echo, rate: 10}]
timeline: [{at: 1s, do: crash, nodes: [m1]}]
assert: [lost == 0]
`

// simBench is the simulator's commands with runs that are made up.
type simBench struct {
	*console
	t       *testing.T
	fails   func(job runner.Job) bool
	breaks  error // what ends a run, instead of findings
	differs string
	hash    string
	mu      sync.Mutex   // held by a run; shrinking runs two at a time
	jobs    []runner.Job // guarded by mu
}

func (b *simBench) execute(_ context.Context, job runner.Job, progress func(runner.Progress)) (*runner.Findings, error) {
	job, err := job.Prepare()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, job)
	if progress != nil {
		progress(runner.Progress{Virtual: time.Second, Whole: 2 * time.Second, Real: time.Second})
	}
	if b.breaks != nil {
		return nil, b.breaks
	}
	ok := b.fails == nil || !b.fails(job)
	o := &runner.Findings{
		Info:    runner.About(job),
		History: &history.History{End: 3 * time.Second, Nodes: []history.Node{{Name: "m1", From: 0, Until: -1}}},
		Verdict: &check.Verdict{OK: ok, Assertions: []check.Result{{Text: "lost == 0", Kind: check.Assert, OK: ok, Value: "1"}}},
		Trace:   []byte("an event of " + job.Trace + "\n"),
	}
	o.Info.TraceHash, o.Info.Events = cmp.Or(b.hash, "00c0ffee00c0ffee"), 10
	return o, nil
}

func (b *simBench) compare(context.Context, runner.Job, runner.Job) (string, error) {
	return b.differs, b.breaks
}

// run runs the command in a folder of its own and returns the exit status.
func (b *simBench) run(args ...string) int {
	b.t.Helper()
	b.console, b.jobs = newConsole(""), nil
	cmd := sims{App: b.App, execute: b.execute, compare: b.compare}.command()
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(b.Stdout)
	cmd.SetErr(b.Stderr)
	cmd.SetFlagErrorFunc(misuse)
	err := cmd.ExecuteContext(b.t.Context())
	if err == nil {
		return 0
	}
	fmt.Fprintln(b.Stderr, explain(err))
	return exitCode(err)
}

// ends runs the command of that line, which ends with that status and says so: on
// standard error, if it fails.
func (b *simBench) ends(status int, says, line string) {
	b.t.Helper()
	require.Equal(b.t, status, b.run(strings.Fields(line)...), line)
	said := &b.out
	if status != 0 {
		said = &b.err
	}
	require.Contains(b.t, said.String(), says, line)
}

// newSimBench makes a folder with a scenario in it the current one.
func newSimBench(t *testing.T) *simBench {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("small.yaml", []byte(simSmall), 0o644))
	return &simBench{t: t}
}

func (b *simBench) failing() string {
	b.t.Helper()
	b.fails = func(runner.Job) bool { return true }
	require.Equal(b.t, 10, b.run("run", "small.yaml"))
	files, err := filepath.Glob("fail-*.json")
	require.NoError(b.t, err)
	require.Equal(b.t, []string{"fail-00c0ffee00c0ffee.json"}, files)
	return files[0]
}

func TestSimExitStatusTellsWhatHappened(t *testing.T) {
	// This test checks the exit status of arke sim run for each way in which
	// it can end, and that each failure is explained.
	b := newSimBench(t)
	b.ends(0, "ok      small, seed 1, level sim", "run small.yaml")

	b.failing()
	require.Contains(t, b.out.String(), "FAILED      assert lost == 0: 1")
	require.Contains(t, b.out.String(), "arke sim replay fail-00c0ffee00c0ffee.json")
	require.Contains(t, b.err.String(), "1 run failed")

	b.breaks = &runner.ChildError{Text: "the run crashed: panic: boom", Output: []byte("panic: boom\ngoroutine 1\n"), Crashed: true}
	require.Equal(t, 10, b.run("run", "small.yaml"))
	require.Contains(t, b.out.String(), "panic: boom")
	require.Contains(t, b.err.String(), "goroutine 1")
	require.Equal(t, 10, b.run("run", "small.yaml", "--json"))
	require.Equal(t, "the run crashed: panic: boom", b.objects(t)[0]["error"])

	b.breaks = errors.New("no space left")
	b.ends(1, "small: no space left", "run small.yaml")

	b.breaks = nil
	b.ends(12, "small runs at sim, stack, not at net", "run small.yaml --level net")
	b.ends(11, "arke sim list", "run none.yaml")
}

func TestSimRefusesBadFilesBeforeItRuns(t *testing.T) {
	// This test checks that a file with a mistake is named with its line, and
	// that not even the good one before it runs.
	b := newSimBench(t)
	bad := strings.Replace(simSmall, "do: crash", "do: dance", 1)
	require.NoError(t, os.WriteFile("bad.yaml", []byte(bad), 0o644))
	b.ends(11, "bad.yaml:8", "run small.yaml bad.yaml")
	require.Contains(t, b.err.String(), "dance")
	require.Empty(t, b.jobs)

	file := b.failing()
	b.ends(11, "arke sim replay "+file, "run "+file)
	for _, command := range []string{"replay", "shrink"} {
		require.Equal(t, 11, b.run(command, "small.yaml"), command)
		require.Contains(t, b.err.String(), "no replay file")
		require.Equal(t, 11, b.run(command, "none.json"), command)
	}
}

func TestSimWrongUsageSaysWhatToDo(t *testing.T) {
	// This test checks that senseless arguments end with status 1 and a hint.
	b := newSimBench(t)
	for _, tc := range []struct{ args, says string }{
		{"run", "missing FILE"},
		{"dance", "unknown command"},
		{"run small.yaml --seed 0", "--seed must be 1 or more"},
		{"run small.yaml --seed 1 --seeds 1..2", "exclude each other"},
		{"run small.yaml --seeds 5", "A..B"},
		{"run small.yaml --seeds 5..1", "not less"},
		{"run small.yaml --seeds 0..1", "1 or more"},
		{"run small.yaml --seeds 1..1000000", "more than 100000"},
		{"run small.yaml --level moon", "sim, stack, or net"},
		{"run small.yaml --level stack --twice", "level sim"},
		{"run small.yaml --parallel -1", "--parallel"},
		{"replay", "missing FAIL.json"},
		{"replay f --until -1s", "--until"},
		{"replay f --until 0s", "--until"},
		{"replay f --until 1s --json", "--json"},
		{"shrink f --runs 0", "--runs"},
		{"diff a", "missing B"},
		{"diff a b --level moon", "sim, stack, or net"},
		{"explain", "missing FILE"},
		{"list x", "unexpected argument"},
	} {
		b.ends(1, tc.says, tc.args)
		require.Contains(t, b.err.String(), "--help'", tc.args)
		require.Empty(t, b.out.String(), tc.args)
	}
}

func TestSimRunsEachFileWithEachSeed(t *testing.T) {
	// This test checks the jobs, one line for each that is fine, the whole
	// story of one that is not, and a summary.
	b := newSimBench(t)
	b.fails = func(job runner.Job) bool { return job.Seed == 3 }
	require.Equal(t, 10, b.run("run", "small.yaml", "--seeds", "2..4", "--parallel", "1", "--level", "stack"))
	var seeds []uint64
	for _, job := range b.jobs {
		seeds = append(seeds, job.Seed)
		require.Equal(t, job.Seed, job.Scenario.Seed)
		require.Equal(t, "stack", job.Level)
	}
	require.Equal(t, []uint64{2, 3, 4}, seeds)
	require.Equal(t, 1, strings.Count(b.out.String(), "assert lost == 0"))
	require.Contains(t, b.out.String(), "small, level stack, 3 seeds: 1 failed")

	require.Equal(t, 0, b.run("run", "member-crash", "silent-death.yaml", "--seed", "7", "--json", "--parallel", "1"))
	reports := b.objects(t)
	require.Len(t, reports, 2)
	for i, name := range []string{"member-crash", "silent-death"} {
		report := reports[i]
		require.Equal(t, name, report["name"])
		require.InDelta(t, 7, report["seed"], 0)
		require.Equal(t, "00c0ffee00c0ffee", report["trace_hash"])
	}
	require.Empty(t, b.err.String())
}

func TestSimTwiceComparesRuns(t *testing.T) {
	// This test checks status 13 and the text that says where runs part.
	b := newSimBench(t)
	require.Equal(t, 0, b.run("run", "small.yaml", "--twice"))
	require.Len(t, b.jobs, 2)

	n := 0
	b.fails = func(runner.Job) bool {
		n++
		b.hash = strings.Repeat("ab"[n%2:n%2+1], 16)
		return false
	}
	b.differs = "first difference at event 7"
	b.ends(13, "small: the repetition is not the same run", "run small.yaml --twice")
	require.Contains(t, b.err.String(), "first difference at event 7")
}

func TestSimOutWritesAFolderForEachRun(t *testing.T) {
	// This test checks what --out leaves, and that its scenario runs again.
	b := newSimBench(t)
	b.fails = func(job runner.Job) bool { return job.Seed == 2 }
	require.Equal(t, 10, b.run("run", "small.yaml", "--seeds", "1..2", "--parallel", "1", "--out", "results"))
	for _, name := range []string{"report.html", "report.json", "scenario.json", "repro.sh"} {
		for _, run := range []string{"small-sim-1", "small-sim-2"} {
			require.FileExists(t, filepath.Join("results", run, name))
		}
	}
	require.FileExists(t, "results/small-sim.json")
	require.FileExists(t, "results/small-sim-2/fail-00c0ffee00c0ffee.json")
	require.NoFileExists(t, "fail-00c0ffee00c0ffee.json")
	b.fails = nil
	require.Equal(t, 0, b.run("run", "results/small-sim-2/scenario.json"))
	require.Equal(t, uint64(2), b.jobs[0].Seed)
	require.Equal(t, 0, b.run("run", "results/small-sim-2"))
}

func TestSimReplayComparesWithTheFile(t *testing.T) {
	// This test checks what arke sim replay says, and its exit status, when
	// the failure is the same, another run, or gone.
	b := newSimBench(t)
	file := b.failing()
	b.ends(10, "the same failure, and the run is the same, event by event", "replay "+file)

	b.hash = strings.Repeat("a", 16)
	b.ends(10, "the run is another one (trace aaaaaaaaaaaaaaaa, not 00c0ffee00c0ffee)", "replay "+file)

	b.fails = nil
	b.ends(0, "no failure any more", "replay "+file)

	require.Equal(t, 0, b.run("replay", file, "--until", "1500ms", "--trace", "m1"))
	require.Equal(t, 1500*time.Millisecond, b.jobs[0].Until)
	require.Contains(t, b.out.String(), "an event of m1\n1.5s after the start")
	require.Contains(t, b.out.String(), "m1               runs since 0s")
	b.ends(1, "no node of that name", "replay "+file+" --trace nobody")
}

func TestSimReplayNoticesAnotherRunOfTheSameProgram(t *testing.T) {
	// This test checks status 13: the commit is the same, the run is not.
	b := newSimBench(t)
	data, err := os.ReadFile(b.failing())
	require.NoError(t, err)
	var file map[string]any
	require.NoError(t, json.Unmarshal(data, &file))
	commit := runner.About(runner.Job{}).Commit
	if commit == "" || strings.HasSuffix(commit, "+") {
		t.Skip("this test binary does not know its commit")
	}
	b.hash = strings.Repeat("a", 16)
	require.Equal(t, 13, b.run("replay", "fail-00c0ffee00c0ffee.json"))
}

func TestSimShrinkWritesASmallerFile(t *testing.T) {
	// This test checks the file beside the first one, and the exit status when
	// there is nothing smaller, or no failure.
	b := newSimBench(t)
	file := b.failing()
	b.fails = func(job runner.Job) bool {
		b.hash = "small"
		return len(job.Scenario.Timeline) == 1
	}
	b.ends(0, "3 nodes, 1 action, 10 requests/s, 2s became", "shrink "+file)
	require.FileExists(t, "fail-small.json")

	b.ends(10, "nothing smaller fails in the same way", "shrink fail-small.json")
	b.fails = nil
	b.ends(13, "does not fail any more", "shrink "+file)
}

func TestSimDiffSaysWhereRunsDiffer(t *testing.T) {
	// This test checks its kinds of arguments and its exit status.
	b := newSimBench(t)
	file := b.failing()
	b.fails = nil
	for _, runs := range []string{"small.yaml small.yaml", "small.yaml@4 " + file, file + " member-crash"} {
		b.ends(0, "the runs are the same", "diff "+runs)
	}
	b.differs = "first difference at event 7\n a x\n b y\n"
	require.Equal(t, 13, b.run("diff", "small.yaml@1", "small.yaml@2"))
	require.Equal(t, b.differs, b.out.String())
	require.Equal(t, 0, b.run("diff", "small.yaml@1", "small.yaml@2", "--level", "stack"))
	require.Len(t, b.jobs, 2)
	require.Equal(t, 11, b.run("diff", "small.yaml@x", "small.yaml"))
}

func TestSimShowsItsScenarios(t *testing.T) {
	// This test checks that each scenario that comes with the program is
	// listed and can be explained and expanded, and that the format is told.
	b := newSimBench(t)
	require.Equal(t, 0, b.run("list"))
	names := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	require.GreaterOrEqual(t, len(names), 12)
	for _, line := range names {
		name := strings.Fields(line)[0]
		require.Equal(t, 0, b.run("explain", name), name)
		require.Contains(t, b.out.String(), name)
	}
	require.Equal(t, 0, b.run("explain", "member-crash", "--seed", "5", "--json"))
	require.NoError(t, os.WriteFile("expanded.json", b.out.Bytes(), 0o644))
	require.Equal(t, 0, b.run("run", "expanded.json"))
	require.Equal(t, uint64(5), b.jobs[0].Seed)
	require.Equal(t, 0, b.run("format"))
	for _, word := range []string{"timeline", "rolling-restart", "reroute_p99"} {
		require.Contains(t, b.out.String(), word)
	}
}

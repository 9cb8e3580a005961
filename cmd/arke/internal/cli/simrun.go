// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

// simRunFlags are what the user asked for.
type simRunFlags struct {
	seed     uint64
	seeds    string
	level    string
	out      string
	parallel int
	twice    bool
	asJSON   bool
}

func (s sims) run() *cobra.Command {
	var flags simRunFlags
	cmd := &cobra.Command{
		Use:               "run FILE...",
		ValidArgsFunction: completeScenario,
		Short:             "Run scenarios and say whether everything held",
		Long: `Run scenarios and say whether everything held.

FILE is a scenario file, or the name of a scenario that comes with the program
(see 'arke sim list'). A run that fails leaves a file fail-<hash>.json, in the
folder of --out or the current one, for 'arke sim replay' and 'arke sim
shrink'.

--json prints one object per run and line, and no progress. --out DIR makes a
folder per run: report.html for people, report.json, scenario.json (expanded)
and repro.sh; with several seeds also a summary for each scenario.

Exit status: 0 everything held, 10 something did not, 11 a file makes no
sense, 12 not possible at this level or on this machine, 13 with --twice: a
run differs from its repetition, 1 anything else.`,
		Example: `  arke sim run member-crash
  arke sim run my.yaml --seeds 1..20 --out results
  arke sim run partition-heal --level stack --json
  arke sim run --twice sim/scenarios/*.yaml`,
		Args: positional(1, math.MaxInt, "FILE"),
	}
	f := cmd.Flags()
	f.Uint64Var(&flags.seed, "seed", 0, "run with this seed instead of the file's")
	f.StringVar(&flags.seeds, "seeds", "", "run with each of these seeds, `A..B`")
	f.StringVar(&flags.level, "level", runner.LevelSim, "what the nodes are: sim, stack, or net")
	f.StringVar(&flags.out, "out", "", "write reports and replay files into this folder")
	f.IntVar(&flags.parallel, "parallel", 0, "runs at a time (default: 2 at level sim, 1 at the others)")
	f.BoolVar(&flags.twice, "twice", false, "run each twice, shaken the second time, and compare: level sim only")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON object per run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		seeds, err := flags.validate(cmd.Flags().Changed("seed"))
		if err != nil {
			return misuse(cmd, err)
		}
		jobs, err := simJobs(args, seeds, flags.level)
		if err != nil {
			return err
		}
		return s.runAll(cmd.Context(), jobs, flags)
	}
	return cmd
}

// validate returns the seeds asked for; 0 is the file's own.
func (f *simRunFlags) validate(seedGiven bool) ([]uint64, error) {
	switch {
	case seedGiven && f.seeds != "":
		return nil, errors.New("--seed and --seeds exclude each other")
	case seedGiven && f.seed == 0:
		return nil, errors.New("--seed must be 1 or more")
	case f.parallel < 0:
		return nil, errors.New("--parallel must be at least 1")
	case f.twice && f.level != runner.LevelSim:
		return nil, fmt.Errorf("--twice needs level %s: the others do not promise the same run again", runner.LevelSim)
	}
	if err := knownLevel(f.level); err != nil {
		return nil, err
	}
	if f.parallel == 0 {
		f.parallel = 1
		if f.level == runner.LevelSim {
			f.parallel = min(2, runtime.GOMAXPROCS(0))
		}
	}
	if f.seeds != "" {
		return parseSeeds(f.seeds)
	}
	return []uint64{f.seed}, nil
}

func knownLevel(level string) error {
	if slices.Contains(scenario.Levels(), level) {
		return nil
	}
	return fmt.Errorf("--level %q is not sim, stack, or net", level)
}

// simJob is a job and where it is from.
type simJob struct {
	runner.Job
	file string // as the user named it
}

// simJobs reads the files and makes a job for each and each seed. What makes no
// sense is refused before anything runs.
func simJobs(files []string, seeds []uint64, level string) ([]simJob, error) {
	var jobs []simJob
	for _, file := range files {
		scenario, err := readScenario(file)
		if err != nil {
			return nil, err
		}
		for i, seed := range seeds {
			job := runner.Job{Scenario: scenario, Level: level, Seed: seed}
			if i == 0 {
				if _, err := job.Prepare(); err != nil {
					return nil, simError(err)
				}
			}
			jobs = append(jobs, simJob{Job: job, file: file})
		}
	}
	return jobs, nil
}

// runAll carries out the jobs and prints each result.
func (s sims) runAll(ctx context.Context, jobs []simJob, flags simRunFlags) error {
	execute := s.execute
	if flags.twice {
		execute = runner.Repeat(s.execute, s.compare)
	}
	all := make([]runner.Job, len(jobs))
	for i, j := range jobs {
		all[i] = j.Job
	}
	progress := s.progress(len(jobs), flags.asJSON)
	results := &simResults{App: s.App, flags: flags, many: len(jobs) > 1, reports: map[string][]*report.Report{}}
	runner.All(ctx, execute, all, flags.parallel,
		func(i int, at runner.Progress) { progress.update(jobs[i].label(), at) },
		func(i int, r runner.Result) {
			progress.finish()
			results.add(jobs[i], r)
		})
	return results.end()
}

// label names a run in progress lines.
func (j simJob) label() string {
	if j.Seed == 0 {
		return j.Scenario.Name
	}
	return fmt.Sprintf("%s, seed %d", j.Scenario.Name, j.Seed)
}

// simResults prints and keeps the results of `arke sim run`.
type simResults struct {
	App
	flags simRunFlags
	many  bool // so that a run that is fine gets one line only

	files   []string                    // in the order of their first results
	reports map[string][]*report.Report // by file, without their histories
	failed  int                         // runs in which something did not hold
	differ  int                         // runs that differ from their repetition
	err     error                       // the first that is no result of a run
}

// add takes a result and prints it.
func (r *simResults) add(job simJob, result runner.Result) {
	causes := result.Causes()
	if result.Err != nil && len(causes) == 0 {
		r.keep(fmt.Errorf("%s: %w", job.label(), result.Err))
		return
	}
	prepared, err := job.Prepare()
	if err != nil {
		r.keep(err)
		return
	}
	rep := simReport(prepared, result, job.file)
	dir, err := r.write(prepared, rep, job)
	r.keep(err)
	replay := ""
	if len(causes) > 0 {
		r.failed++
		f, err := runner.NewFailure(result)
		if err == nil {
			replay, err = f.Write(cmp.Or(dir, "."))
		}
		r.keep(err)
	}
	r.remember(job.file, rep)
	difference := ""
	if result.Outcome != nil {
		difference = result.Outcome.Difference
	}
	if difference != "" {
		r.differ++
		fmt.Fprintf(r.Stderr, "%s: the repetition is not the same run\n%s\n", job.label(), difference)
	}
	if r.flags.asJSON {
		r.keep(rep.WriteJSON(r.Stdout))
		return
	}
	r.keep(writeSimResult(r.Stdout, rep, simText{brief: r.many && len(causes) == 0, replay: replay, folder: dir}))
	r.output(result.Err)
}

// output shows the end of what a crashed run printed.
func (r *simResults) output(err error) {
	var child *runner.ChildError
	if errors.As(err, &child) {
		fmt.Fprint(r.Stderr, lastLines(string(child.Output), 40))
	}
}

// simReport makes the report of a run that came to its end or crashed.
func simReport(job runner.Job, result runner.Result, file string) *report.Report {
	if result.Outcome == nil {
		info := runner.About(job)
		info.File, info.Error = file, strings.TrimPrefix(result.Err.Error(), "runner: ")
		return report.New(info, job.Scenario, nil, nil)
	}
	o := result.Outcome
	info := o.Info
	info.File = file
	return report.New(info, job.Scenario, o.History, o.Verdict)
}

// write makes the run's folder and returns it; without --out there is none.
func (r *simResults) write(job runner.Job, rep *report.Report, from simJob) (string, error) {
	if r.flags.out == "" {
		return "", nil
	}
	dir := filepath.Join(r.flags.out, fmt.Sprintf("%s-%s-%d", safeName(job.Scenario.Name), job.Level, job.Seed))
	return dir, writeSimFolder(dir, job, rep, from.file)
}

// remember keeps a report for the summary, without the history that it holds.
func (r *simResults) remember(file string, rep *report.Report) {
	if !r.many {
		return
	}
	text, err := json.Marshal(rep)
	if err != nil {
		r.keep(err)
		return
	}
	var light report.Report
	if r.keep(json.Unmarshal(text, &light)); light.Schema == 0 {
		return
	}
	light.Checkpoints = nil
	if r.reports[file] == nil {
		r.files = append(r.files, file)
	}
	r.reports[file] = append(r.reports[file], &light)
}

// keep remembers the first error.
func (r *simResults) keep(err error) {
	if err == nil {
		return
	}
	// That the user ended it is said last and hides nothing.
	if r.err == nil || errors.Is(r.err, context.Canceled) {
		r.err = err
	}
}

// end prints the summaries and returns what decides the exit status.
func (r *simResults) end() error {
	for _, file := range r.files {
		if len(r.reports[file]) > 1 {
			r.keep(r.summarize(report.Summarize(r.reports[file])))
		}
	}
	switch {
	case r.err != nil:
		return simError(r.err)
	case r.failed > 0:
		return &statusError{code: simFailed, text: plural.Of(r.failed, "run") + " failed"}
	case r.differ > 0:
		return &statusError{code: simDiffers, text: plural.Of(r.differ, "run") + " differed from the repetition: something decides that the seed does not"}
	}
	return nil
}

func (r *simResults) summarize(sum *report.Summary) error {
	if r.flags.out != "" {
		name := fmt.Sprintf("%s-%s.json", safeName(sum.Name), sum.Level)
		if err := writeTo(filepath.Join(r.flags.out, name), sum.WriteJSON); err != nil {
			return err
		}
	}
	if r.flags.asJSON {
		return nil
	}
	return writeSummary(r.Stdout, sum)
}

// How often progress is shown: often on a terminal, where it overwrites itself,
// and seldom in a log. A run that is over sooner shows none.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressInLog      = 5 * time.Second
)

// simProgress shows how far several runs are. Its methods may be called by any
// goroutine.
type simProgress struct {
	w        io.Writer // nil = quiet
	terminal bool
	every    time.Duration

	mu    sync.Mutex
	done  int // runs; guarded by mu, like all below
	total int
	shown time.Time
	width int // of what stands on the terminal's line
}

func (s sims) progress(total int, quiet bool) *simProgress {
	p := &simProgress{every: progressInLog, total: total, shown: time.Now()}
	if quiet {
		return p
	}
	p.w = s.Stderr
	if isTerminal(s.Stderr) {
		p.terminal, p.every = true, progressOnTerminal
	}
	return p
}

// update shows how far the run of that name is.
func (p *simProgress) update(name string, at runner.Progress) {
	p.line(howFar(name, at))
}

// line shows a line, if it is time for one.
func (p *simProgress) line(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || time.Since(p.shown) < p.every {
		return
	}
	p.shown = time.Now()
	line += p.count()
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

func howFar(name string, at runner.Progress) string {
	if at.Whole == 0 {
		return name + ": the network starts"
	}
	line := fmt.Sprintf("%s: %.0f of %.0f s, %.1f times real time", name, at.Virtual.Seconds(), at.Whole.Seconds(), at.Ratio())
	if at.Events > 0 {
		line += fmt.Sprintf(", %d events", at.Events)
	}
	return line
}

func (p *simProgress) count() string {
	if p.total < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d runs done)", p.done, p.total)
}

// finish counts a run and clears the line, for a result to be printed.
func (p *simProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}

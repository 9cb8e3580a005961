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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

// simReplayFlags are what the user asked for.
type simReplayFlags struct {
	until  time.Duration
	trace  string
	asJSON bool
}

func (s sims) replay() *cobra.Command {
	var flags simReplayFlags
	cmd := &cobra.Command{
		Use:   "replay FAIL.json",
		Short: "Run a failure again",
		Long: `Run a failure again and say whether it is still the same.

FAIL.json is a file that 'arke sim run' wrote. --until stops at that time after
the start and prints how things stand. --trace prints the events of one node.
With either the exit status is 0 if that was possible.

Exit status: 10 it fails again, for the same reason or another, 0 it does not
fail any more, 13 the same program gave another run, which must not happen at
level sim, 11 the file makes no sense, 1 anything else.`,
		Example: `  arke sim replay fail-00c0ffee00c0ffee.json
  arke sim replay fail-00c0ffee00c0ffee.json --until 41.2s
  arke sim replay fail-00c0ffee00c0ffee.json --trace m1 >events.txt`,
		Args: positional(1, 1, "FAIL.json"),
	}
	f := cmd.Flags()
	f.DurationVar(&flags.until, "until", 0, "stop at this time and print how things stand")
	f.StringVar(&flags.trace, "trace", "", "print the events of this `NODE`: level sim only")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.until < 0 || cmd.Flags().Changed("until") && flags.until == 0 {
			return misuse(cmd, errors.New("--until must be positive, like 41.2s"))
		}
		if flags.asJSON && (flags.until > 0 || flags.trace != "") {
			return misuse(cmd, errors.New("--json goes with neither --until nor --trace"))
		}
		failure, err := readFailure(args[0])
		if err != nil {
			return err
		}
		return s.replayFailure(cmd.Context(), args[0], failure, flags)
	}
	return cmd
}

func (s sims) replayFailure(ctx context.Context, file string, f runner.Failure, flags simReplayFlags) error {
	job := f.Job()
	job.Until, job.Trace = flags.until, flags.trace
	prepared, err := job.Prepare()
	if err != nil {
		return simError(err)
	}
	if err := hasNode(prepared, flags.trace); err != nil {
		return err
	}
	progress := s.progress(1, flags.asJSON)
	o, err := s.execute(ctx, job, func(at runner.Progress) { progress.update(f.Name, at) })
	progress.finish()
	result := runner.Result{Job: job, Outcome: o, Err: err}
	if err != nil && len(result.Causes()) == 0 {
		return simError(err)
	}
	if o != nil && flags.trace != "" {
		if _, err := s.Stdout.Write(o.Trace); err != nil {
			return err
		}
	}
	if o != nil && flags.until > 0 {
		return writeSimState(s.Stdout, o.History, flags.until)
	}
	if o != nil && flags.trace != "" {
		return nil
	}
	rep := simReport(prepared, result, file)
	if flags.asJSON {
		err = rep.WriteJSON(s.Stdout)
	} else {
		err = writeSimResult(s.Stdout, rep, simText{})
	}
	if err != nil {
		return err
	}
	return s.compareReplay(f, result, flags.asJSON)
}

// hasNode checks that the scenario has a node of that name.
func hasNode(job runner.Job, name string) error {
	if name == "" {
		return nil
	}
	for _, group := range job.Scenario.Nodes {
		if slices.Contains(group.Names(), name) {
			return nil
		}
	}
	return &statusError{code: 1, text: fmt.Sprintf("--trace %q: the scenario has no node of that name: see 'arke sim explain'", name)}
}

// compareReplay says what became of a failure and chooses the exit status.
func (s sims) compareReplay(f runner.Failure, r runner.Result, asJSON bool) error {
	info := runner.About(r.Job)
	cause, same := r.FailsLike(f.Cause)
	sameProgram := f.Commit != "" && f.Commit == info.Commit && !strings.HasSuffix(f.Commit, "+") &&
		f.GoVersion == info.GoVersion && f.Host == info.Host
	trace := ""
	sameTrace := true
	if r.Outcome != nil && f.TraceHash != "" {
		if sameTrace = r.Outcome.Info.TraceHash == f.TraceHash; sameTrace {
			trace = ", and the run is the same, event by event"
		} else {
			trace = fmt.Sprintf("; the run is another one (trace %s, not %s)", r.Outcome.Info.TraceHash, f.TraceHash)
		}
	}
	was := f.Cause.Checker + ": " + f.Cause.Text
	var text string
	switch {
	case same && cause.Text == f.Cause.Text && cause.At == f.Cause.At:
		text = "the same failure" + trace
	case same:
		text = fmt.Sprintf("the same kind of failure%s: %s: %s; it was %s", trace, cause.Checker, cause.Text, was)
	case len(r.Causes()) > 0:
		text = fmt.Sprintf("another failure%s; it was %s", trace, was)
	default:
		text = fmt.Sprintf("no failure any more%s; it was %s", trace, was)
	}
	switch {
	case sameProgram && !sameTrace:
		return &statusError{code: simDiffers, text: "the same program gave another run: something decides that the seed does not: " + text}
	case len(r.Causes()) > 0:
		return &statusError{code: simFailed, text: text}
	}
	if !asJSON {
		fmt.Fprintln(s.Stdout, text)
	}
	return nil
}

func (s sims) diff() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Find the first event at which two runs differ",
		Long: `Find the first event at which two runs differ.

A and B are replay files, scenario files, folders that 'arke sim run --out'
made, or names of scenarios that come with the program. FILE@SEED runs a
scenario with another seed. Both run again. At level sim the command compares
every event, at the other levels what nodes and requests did. Exit status 0 if
the runs are the same, 13 if they differ.`,
		Example: `  arke sim diff member-crash@1 member-crash@2
  arke sim diff fail-00c0ffee00c0ffee.json results/mine-sim-7`,
		Args: positional(2, 2, "A", "B"),
	}
	cmd.Flags().StringVar(&level, "level", "", "run at this level (default: a replay file's own, or sim)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if level != "" {
			if err := knownLevel(level); err != nil {
				return misuse(cmd, err)
			}
		}
		a, err := diffJob(args[0], level)
		if err != nil {
			return err
		}
		b, err := diffJob(args[1], level)
		if err != nil {
			return err
		}
		if a.Level != b.Level {
			return misuse(cmd, fmt.Errorf("%s ran at level %s and %s at %s: choose one with --level", args[0], a.Level, args[1], b.Level))
		}
		return s.diffRuns(cmd.Context(), a, b)
	}
	return cmd
}

// diffJob makes a job of an argument of `arke sim diff`.
func diffJob(arg, level string) (runner.Job, error) {
	name, seed := splitSeed(arg)
	job := runner.Job{Level: runner.LevelSim}
	data, err := readSim(name)
	if err != nil {
		return job, err
	}
	if runner.IsFailure(data) {
		f, err := runner.ParseFailure(name, data)
		if err != nil {
			return job, simError(err)
		}
		job = f.Job()
	} else if job.Scenario, err = readScenario(name); err != nil {
		return job, err
	}
	if seed != 0 {
		job.Seed = seed
	}
	if level != "" {
		job.Level = level
	}
	job, err = job.Prepare()
	return job, simError(err)
}

// splitSeed parts "FILE@SEED". A file of exactly that name goes first.
func splitSeed(arg string) (name string, seed uint64) {
	i := strings.LastIndexByte(arg, '@')
	if i < 0 {
		return arg, 0
	}
	seed, err := strconv.ParseUint(arg[i+1:], 10, 64)
	if _, statErr := os.Stat(arg); err != nil || statErr == nil {
		return arg, 0
	}
	return arg[:i], seed
}

func (s sims) diffRuns(ctx context.Context, a, b runner.Job) error {
	difference, err := s.difference(ctx, a, b)
	if err != nil {
		return simError(err)
	}
	if difference == "" {
		_, err := fmt.Fprintln(s.Stdout, "the runs are the same")
		return err
	}
	if _, err := fmt.Fprintln(s.Stdout, strings.TrimSuffix(difference, "\n")); err != nil {
		return err
	}
	return &statusError{code: simDiffers, text: "the runs differ"}
}

func (s sims) difference(ctx context.Context, a, b runner.Job) (string, error) {
	if a.Level == runner.LevelSim {
		return s.compare(ctx, a, b)
	}
	first, err := s.execute(ctx, a, nil)
	if err != nil {
		return "", err
	}
	second, err := s.execute(ctx, b, nil)
	if err != nil {
		return "", err
	}
	return runner.Difference(first, second), nil
}

// What --out writes for a run.
const (
	reportPage   = "report.html"
	reportFile   = "report.json"
	scenarioFile = "scenario.json"
	reproFile    = "repro.sh"
)

// writeSimFolder writes everything about a run into a folder, which it makes.
func writeSimFolder(dir string, job runner.Job, r *report.Report, file string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	expanded := func(w io.Writer) error { return printExpanded(w, job.Scenario) }
	if err := writeTo(filepath.Join(dir, scenarioFile), expanded); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, reproFile), []byte(repro(job, r, file)), 0o755); err != nil {
		return err
	}
	if err := writeTo(filepath.Join(dir, reportFile), r.WriteJSON); err != nil {
		return err
	}
	return writeTo(filepath.Join(dir, reportPage), r.WriteHTML)
}

// repro is a script that repeats the run.
func repro(job runner.Job, r *report.Report, file string) string {
	return fmt.Sprintf(`#!/bin/sh
# %s, seed %d, level %s, from %s.
# Made by arke of %s, %s, %s; the same program gives the same run at level sim.
cd "$(dirname "$0")" || exit 1
exec "${ARKE:-arke}" sim run %s --level %s "$@"
`, oneLine(job.Scenario.Name), job.Seed, job.Level, oneLine(file),
		cmp.Or(r.Commit, "an unknown commit"), r.GoVersion, r.Host, scenarioFile, job.Level)
}

func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// safeName makes a folder's name of a scenario's.
func safeName(name string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, name), "scenario")
}

// printExpanded prints a scenario as JSON that 'arke sim run' reads.
func printExpanded(w io.Writer, s scenario.Scenario) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}

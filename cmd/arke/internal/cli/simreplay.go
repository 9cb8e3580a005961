// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/runner"
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
		for _, n := range group.Names() {
			if n == name {
				return nil
			}
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

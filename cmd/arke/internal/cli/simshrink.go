// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

// simShrinkFlags are what the user asked for.
type simShrinkFlags struct {
	runs int
	time time.Duration
	out  string
}

func (s sims) shrink() *cobra.Command {
	var flags simShrinkFlags
	cmd := &cobra.Command{
		Use:   "shrink FAIL.json",
		Short: "Look for a smaller scenario that fails in the same way",
		Long: `Look for a smaller scenario that fails in the same way.

Faults, nodes, requests and time are left out bit by bit, as long as the same
checker or the same assertion fails. The result is a replay file beside the
first one. Exit status 0 if there is one, 10 if nothing smaller fails, 13 if
FAIL.json itself does not fail any more, 11 if it makes no sense.`,
		Example: `  arke sim shrink fail-00c0ffee00c0ffee.json
  arke sim shrink fail-00c0ffee00c0ffee.json --time 2m`,
		Args: positional(1, 1, "FAIL.json"),
	}
	f := cmd.Flags()
	f.IntVar(&flags.runs, "runs", 500, "try so many scenarios at most")
	f.DurationVar(&flags.time, "time", 10*time.Minute, "stop looking after this time")
	f.StringVar(&flags.out, "out", "", "write the result into this folder (default: that of FAIL.json)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.runs < 1 || flags.time <= 0 {
			return misuse(cmd, errors.New("--runs and --time must be positive"))
		}
		failure, err := readFailure(args[0])
		if err != nil {
			return err
		}
		if flags.out == "" {
			flags.out = filepath.Dir(args[0])
		}
		return s.shrinkFailure(cmd.Context(), failure, flags)
	}
	return cmd
}

func (s sims) shrinkFailure(ctx context.Context, f runner.Failure, flags simShrinkFlags) error {
	progress := s.progress(1, false)
	shrink := runner.Shrink{
		Candidates: scenario.Smaller,
		Execute:    s.execute,
		MaxRuns:    flags.runs,
		MaxTime:    flags.time,
		Progress: func(step runner.Step) {
			progress.line(fmt.Sprintf("%s tried, %d smaller ones found; now %s", plural(step.Runs, "scenario"), step.Smaller, sizeOf(step.Now)))
		},
	}
	if f.Level == runner.LevelSim {
		shrink.Parallel = min(2, runtime.GOMAXPROCS(0))
	}
	shrunk, fails, err := shrink.Run(ctx, f)
	progress.finish()
	switch {
	case err != nil:
		return simError(err)
	case !fails:
		return &statusError{code: simDiffers, text: fmt.Sprintf("it does not fail any more: %s: see 'arke sim replay'", f.Cause.Checker)}
	case shrunk.Step.Smaller == 0:
		return &statusError{code: simFailed, text: "nothing smaller fails in the same way: " + sizeOf(f.Scenario)}
	}
	path, err := shrunk.Failure.Write(flags.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "%s became %s, in %s\n", sizeOf(f.Scenario), sizeOf(shrunk.Step.Now), plural(shrunk.Step.Runs, "run"))
	if !shrunk.Complete {
		fmt.Fprintln(s.Stdout, "there may be a smaller one: the search ended early")
	}
	fmt.Fprintf(s.Stdout, "%s: %s\narke sim replay %s\n", shrunk.Failure.Cause.Checker, shrunk.Failure.Cause.Text, path)
	return nil
}

// sizeOf says how large an expanded scenario is.
func sizeOf(s scenario.Scenario) string {
	nodes, rate := 0, 0.0
	for _, group := range s.Nodes {
		nodes += len(group.Names())
	}
	for _, w := range s.Workload {
		rate += w.Rate
	}
	return fmt.Sprintf("%s, %s, %s requests/s, %v", plural(nodes, "node"), plural(len(s.Timeline), "action"), number(rate), s.Duration.D())
}

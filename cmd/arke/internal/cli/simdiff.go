// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/runner"
)

func (s sims) diff() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Find the first event at which two runs differ",
		Long: `Find the first event at which two runs differ.

A and B are replay files, scenario files, folders that 'arke sim run --out'
made, or names of scenarios that come with the program; FILE@SEED runs a
scenario with another seed. Both run again: at level sim every event is
recorded, at the others what nodes and requests did is compared. Exit status 0
if the runs are the same, 13 if they differ.`,
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

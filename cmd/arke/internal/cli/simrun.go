// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/sim/runner"
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
		Use:   "run FILE...",
		Short: "Run scenarios and say whether everything held",
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse(cmd, errors.New("missing FILE"))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&flags.seed, "seed", 0, "run with this seed instead of the file's")
	f.StringVar(&flags.seeds, "seeds", "", "run with each of these seeds, `A..B`")
	f.StringVar(&flags.level, "level", runner.LevelSim, "what the nodes are: sim, stack, or net")
	f.StringVar(&flags.out, "out", "", "write reports and replay files into this folder")
	f.IntVar(&flags.parallel, "parallel", 0, "runs at a time (default: 2 at level sim, 1 at the others)")
	f.BoolVar(&flags.twice, "twice", false, "run each twice and compare: level sim only")
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
	for _, l := range runner.Levels() {
		if l == level {
			return nil
		}
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
	results := &simResults{App: s.App, flags: flags, many: len(jobs) > 1}
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

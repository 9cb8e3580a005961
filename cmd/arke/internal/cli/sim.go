// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/sim/scenarios"
)

// Exit statuses of the simulator.
const (
	simFailed  = 10 // an assertion does not hold, or a checker found something
	simFile    = 11 // a scenario or a replay file makes no sense
	simLevel   = 12 // not possible at this level, or on this machine
	simDiffers = 13 // two runs differ that should not, or were compared
)

// sims are the simulator's commands with what they need to run; tests put
// something else in its place.
type sims struct {
	App
	execute runner.Executor
	compare runner.Comparer
}

func simCommand(a App) *cobra.Command {
	process := runner.Process{Command: []string{a.Executable, "sim", "child"}}
	return sims{App: a, execute: process.Run, compare: process.Compare}.command()
}

func (s sims) command() *cobra.Command {
	return group(&cobra.Command{
		Use:   "sim",
		Short: "Try out what happens when nodes and links fail",
		Long: `Try out what happens when nodes and links fail.

A scenario is a file that describes a network, its faults, its load, and what
must hold. 'arke sim format' explains the file. 'arke sim list' names the
scenarios that come with the program. A scenario runs at one of three levels:

  sim    Arke's own code on a simulated network in virtual time: the same
         seed gives the same run, event by event
  stack  real libp2p hosts in virtual time
  net    real relays, real links, real time (Linux; takes root and /dev/net/tun)

Exit status: 0 everything held, 10 an assertion does not hold or a checker
found something, 11 a file makes no sense, 12 not possible at this level or on
this machine, 13 two runs differ, 1 anything else.`,
		Example: `  arke sim run member-crash
  arke sim run my-scenario.yaml --seeds 1..20 --out results`,
	}, s.run(), s.replay(), s.shrink(), s.diff(), s.explain(), s.list(), s.format(), s.child())
}

// child is what a simulation's own process runs.
func (s sims) child() *cobra.Command {
	return &cobra.Command{
		Use:    "child",
		Short:  "Carry out one job of arke sim",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code := runner.ChildMain(cmd.Context(), s.Stdin); code != 0 {
				return &statusError{code: code, text: "sim child: no job was carried out"}
			}
			return nil
		},
	}
}

// simError gives the errors of package runner their exit statuses.
func simError(err error) error {
	var status *statusError
	var child *runner.ChildError
	text := func() string { return strings.TrimPrefix(err.Error(), "runner: ") }
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.As(err, &status):
		return err
	case errors.Is(err, runner.ErrScenario):
		return &statusError{code: simFile, text: text() + "\nsee 'arke sim format'"}
	case errors.Is(err, runner.ErrLevel):
		return &statusError{code: simLevel, text: text()}
	case errors.As(err, &child) && child.Crashed:
		return &statusError{code: simFailed, text: text()}
	}
	return &statusError{code: 1, text: text()}
}

// maxSeeds bounds --seeds, against a slip of the finger.
const maxSeeds = 100_000

// badFile says what is wrong with a file.
func badFile(format string, args ...any) error {
	return &statusError{code: simFile, text: fmt.Sprintf(format, args...)}
}

// readSim returns the content of a file, of the scenario in a folder that --out
// made, or of a scenario that comes with the program.
func readSim(name string) ([]byte, error) {
	if stat, err := os.Stat(name); err == nil && stat.IsDir() {
		name = filepath.Join(name, scenarioFile)
	}
	data, err := os.ReadFile(name)
	if err == nil {
		return data, nil
	}
	shipped := strings.TrimSuffix(name, ".yaml")
	if errors.Is(err, os.ErrNotExist) && slices.Contains(scenarios.Names(), shipped) {
		return scenarios.Read(shipped)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, badFile("%s: there is no such file, and no scenario of that name comes with the program: see 'arke sim list'", name)
	}
	return nil, badFile("%v", err)
}

// readScenario reads a scenario.
func readScenario(name string) (scenario.Scenario, error) {
	data, err := readSim(name)
	if err != nil {
		return scenario.Scenario{}, err
	}
	if runner.IsFailure(data) {
		return scenario.Scenario{}, badFile("%s is a replay file, not a scenario: use 'arke sim replay %s'", name, name)
	}
	s, err := scenario.Parse(name, data)
	if err != nil {
		return s, badFile("%v\nsee 'arke sim format'", err)
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return s, nil
}

// readFailure reads a replay file.
func readFailure(name string) (runner.Failure, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return runner.Failure{}, badFile("%v", err)
	}
	if !runner.IsFailure(data) {
		return runner.Failure{}, badFile("%s is no replay file (fail-….json), which 'arke sim run' writes when a run fails", name)
	}
	f, err := runner.ParseFailure(name, data)
	return f, simError(err)
}

// parseSeeds reads "A..B", both ends included.
func parseSeeds(text string) ([]uint64, error) {
	first, last, ok := strings.Cut(text, "..")
	a, errA := strconv.ParseUint(first, 10, 64)
	b, errB := strconv.ParseUint(last, 10, 64)
	switch {
	case !ok || errA != nil || errB != nil:
		return nil, fmt.Errorf("--seeds %q is not A..B, like 1..20", text)
	case a == 0 || b < a:
		return nil, fmt.Errorf("--seeds %q: the first seed is 1 or more, and the last one not less", text)
	case b-a >= maxSeeds:
		return nil, fmt.Errorf("--seeds %q: that is more than %d", text, maxSeeds)
	}
	seeds := make([]uint64, 0, b-a+1)
	for s := a; s <= b; s++ {
		seeds = append(seeds, s)
	}
	return seeds, nil
}

func (s sims) explain() *cobra.Command {
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "explain FILE",
		ValidArgsFunction: completeScenario,
		Short:             "Tell a scenario in words and as a timeline",
		Long: `Tell a scenario in words and as a timeline.

FILE is a scenario file or the name of a scenario that comes with the program.
It is expanded for its seed first, so every node and every action is named.
--json prints the expanded scenario, which is a scenario file itself.`,
		Example: `  arke sim explain churn
  arke sim explain my.yaml --seed 7 --json >expanded.json`,
		Args: positional(1, 1, "FILE"),
	}
	f := cmd.Flags()
	f.Uint64Var(&seed, "seed", 0, "expand for this seed instead of the file's")
	f.BoolVar(&asJSON, "json", false, "print the expanded scenario")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		sc, err := readScenario(args[0])
		if err != nil {
			return err
		}
		if seed != 0 {
			sc.Seed = seed
		}
		expanded, err := sc.Expand()
		if err != nil {
			return badFile("%v", err)
		}
		if asJSON {
			return printExpanded(s.Stdout, expanded)
		}
		return expanded.Explain(s.Stdout)
	}
	return cmd
}

func (s sims) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Name the scenarios that come with the program",
		Example: "  arke sim list",
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per scenario")
	cmd.RunE = func(*cobra.Command, []string) error {
		for _, name := range scenarios.Names() {
			sc, err := readScenario(name)
			if err != nil {
				return err
			}
			levels := sc.Levels
			if len(levels) == 0 {
				levels = scenario.Levels()
			}
			about := strings.Join(strings.Fields(sc.About), " ")
			err = printAs(s.Stdout, asJSON, map[string]any{"name": name, "about": about, "levels": levels},
				"%-20s %-16s %s\n", name, strings.Join(levels, " "), about)
			if err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func (s sims) format() *cobra.Command {
	return &cobra.Command{
		Use:     "format",
		Short:   "Explain the format of scenario files",
		Example: "  arke sim format | less",
		RunE: func(*cobra.Command, []string) error {
			return scenario.WriteReference(s.Stdout)
		},
	}
}

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

The command leaves out faults, nodes, requests and time bit by bit, as long as
the same checker or the same assertion fails. The result is a replay file beside
the first one. Exit status 0 if there is one, 10 if nothing smaller fails, 13 if
FAIL.json itself does not fail any more, 11 if it makes no sense.`,
		Example: `  arke sim shrink fail-00c0ffee00c0ffee.json
  arke sim shrink fail-00c0ffee00c0ffee.json --time 2m`,
		Args: positional(1, 1, "FAIL.json"),
	}
	f := cmd.Flags()
	f.IntVar(&flags.runs, "runs", 500, "try at most this many scenarios")
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
		flags.out = cmp.Or(flags.out, filepath.Dir(args[0]))
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
			progress.line(fmt.Sprintf("%s tried, %d smaller ones found; now %s", plural.Of(step.Runs, "scenario"), step.Smaller, sizeOf(step.Now)))
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
	fmt.Fprintf(s.Stdout, "%s became %s, in %s\n", sizeOf(f.Scenario), sizeOf(shrunk.Step.Now), plural.Of(shrunk.Step.Runs, "run"))
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
	return fmt.Sprintf("%s, %s, %s requests/s, %v", plural.Of(nodes, "node"), plural.Of(len(s.Timeline), "action"), number(rate), s.Duration.D())
}

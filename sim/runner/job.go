// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/scenario"
)

// The levels at which a job can run.
const (
	LevelSim   = "sim"   // the simulated network: replays
	LevelStack = "stack" // real libp2p in virtual time
	LevelNet   = "net"   // real processes in real time
)

// Levels lists the levels, the default first.
func Levels() []string { return []string{LevelSim, LevelStack, LevelNet} }

// Job is one run asked for. The zero value of all but Scenario is usable.
type Job struct {
	Scenario scenario.Scenario // as a file has it, or expanded

	Level string // default sim
	Seed  uint64 // replaces the scenario's; 0 = keep that

	// Until stops the run at this time after its start, without a verdict.
	// Default: the run goes to its end.
	Until time.Duration

	// Record keeps every event of a run at level sim, about 120 bytes each.
	Record bool

	// Trace names a node whose events are wanted as text (Outcome.Trace), at
	// level sim only; it implies Record.
	Trace string

	// Watchdog is how much real time may pass while the player's does not,
	// before the child prints all stacks and ends. Default: 30 minutes at level
	// sim, where ten thousand nodes take some to start (its driver has a
	// watchdog of its own, of a minute without an event), 10 minutes at stack,
	// 2 minutes at net.
	Watchdog time.Duration

	// Procs is GOMAXPROCS of the child. Default: 2 at level sim, where one
	// goroutine runs at a time and another CPU helps the garbage collector;
	// all CPUs elsewhere.
	Procs int
}

// Prepare returns the job with its defaults and with the scenario expanded for
// its seed. The error wraps ErrScenario or ErrLevel.
func (j Job) Prepare() (Job, error) {
	if j.Level == "" {
		j.Level = LevelSim
	}
	if !slices.Contains(Levels(), j.Level) {
		return j, fmt.Errorf("%w: there is no level %q, but %s", ErrLevel, j.Level, strings.Join(Levels(), ", "))
	}
	if j.Trace != "" {
		j.Record = true
	}
	if j.Record && j.Level != LevelSim {
		return j, fmt.Errorf("%w: only level %s has a trace", ErrLevel, LevelSim)
	}
	if can := j.Scenario.Levels; len(can) > 0 && !slices.Contains(can, j.Level) {
		return j, fmt.Errorf("%w: %s runs at %s, not at %s", ErrLevel, j.Scenario.Name, strings.Join(can, ", "), j.Level)
	}
	if j.Procs == 0 && j.Level == LevelSim {
		j.Procs = min(2, runtime.NumCPU())
	}
	if j.Seed != 0 {
		j.Scenario.Seed = j.Seed
	}
	expanded, err := j.Scenario.Expand()
	if err != nil {
		return j, bad(j.Scenario.Name, err)
	}
	j.Scenario = expanded
	j.Seed = expanded.Seed
	return j, nil
}

// watchdog is the limit of the job's level.
func (j Job) watchdog() time.Duration {
	switch {
	case j.Watchdog > 0:
		return j.Watchdog
	case j.Level == LevelStack:
		return 10 * time.Minute
	case j.Level == LevelNet:
		return 2 * time.Minute
	}
	return 30 * time.Minute
}

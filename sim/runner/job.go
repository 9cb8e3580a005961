// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/scenario"
)

// The levels at which a job can run.
const (
	LevelSim   = "sim"   // the simulated network: replays
	LevelStack = "stack" // real libp2p in virtual time
	LevelNet   = "net"   // real processes in real time
)

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

	// Shake is sim.Config.Shake: the second of two runs that are to be the same
	// has it, so that what does not replay shows.
	Shake bool

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
	j.Level = cmp.Or(j.Level, LevelSim)
	if all := scenario.Levels(); !slices.Contains(all, j.Level) {
		return j, fmt.Errorf("%w: there is no level %q, but %s", ErrLevel, j.Level, strings.Join(all, ", "))
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

// ErrScenario is wrapped by Job.Prepare and Load when the scenario or the
// replay file makes no sense.
var ErrScenario = errors.New("runner: not a usable scenario")

// ErrLevel is wrapped when a scenario can't be played at the level asked for:
// its file excludes it, this machine lacks something, or an action is not
// possible there.
var ErrLevel = errors.New("runner: not possible at this level")

// ChildError says that a child process ended without an outcome, or with an
// error of the player.
type ChildError struct {
	Text    string // what went wrong, one line
	Output  []byte // the end of what the child printed: panics, stacks
	Crashed bool   // it panicked, was killed, or hung, so the scenario shows a bug
	level   bool
}

// Error implements error.
func (e *ChildError) Error() string { return "runner: " + e.Text }

// Unwrap makes errors.Is(err, ErrLevel) true if that is why.
func (e *ChildError) Unwrap() error {
	if e.level {
		return ErrLevel
	}
	return nil
}

// bad wraps ErrScenario around what is wrong with a file.
func bad(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrScenario, name, err)
}

// Executor carries out a job and returns its outcome. It calls progress now
// and then from one goroutine; progress may be nil. It ends soon when ctx does,
// with ctx's error.
type Executor func(ctx context.Context, job Job, progress func(Progress)) (*Findings, error)

// Comparer carries out two jobs at level sim, recorded, and returns a text
// that names the first event at which their runs differ; "" = they don't.
type Comparer func(ctx context.Context, a, b Job) (string, error)

// judge makes an outcome of what a level played.
func judge(job Job, h *history.History, real time.Duration) *Findings {
	o := &Findings{History: h, Info: About(job)}
	o.Info.Virtual = h.End
	o.Info.Real = real
	o.Info.MemoryPeak = peakMemory()
	o.Info.Started = true
	if job.Until == 0 || job.Until >= job.Scenario.Duration.D() {
		o.Verdict = check.Judge(h, rules(job))
	}
	return o
}

// About is what is known of a prepared job's run before it begins.
func About(job Job) report.Info {
	return report.Info{
		Name: job.Scenario.Name, Seed: job.Seed, Level: job.Level,
		Commit: Commit(), GoVersion: runtime.Version(), Host: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// rules are those of the scenario at the level, with the limits of its clusters.
func rules(job Job) check.Rules {
	r := job.Scenario.Rules(job.Level)
	for i, c := range job.Scenario.Clusters {
		l := patterns.Limits{Concurrency: c.Limits.Concurrency, QueueLength: c.Limits.QueueLength}.WithDefaults()
		r.Running = max(r.Running, l.Concurrency)
		if l.QueueLength == 0 {
			l.QueueLength = -1 // none may wait
		}
		if i == 0 {
			r.Waiting = l.QueueLength
		}
		r.Waiting = max(r.Waiting, l.QueueLength)
	}
	return r
}

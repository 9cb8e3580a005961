// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/report"
)

// Run carries out a scenario with a seed and a bug, "" = none. It may be called
// concurrently. An error means that it could not, which ends the hunt.
type Run func(ctx context.Context, bug, scenario string, seed uint64) (Finding, error)

// Finding is what a run showed.
type Finding struct {
	Checker string // a checker's name, the text of an assertion, "crash", or "start"; "" = everything held
	Text    string // what it said first
	Took    time.Duration
}

// Catch is what became of one bug.
type Catch struct {
	Bug      Bug
	Scenario string  // that caught it; "" = none did
	Seed     uint64  // with which, and so how many seeds it took
	Finding  Finding // of that run
	Runs     int     // until then, or altogether
}

// Caught says whether a scenario caught the bug.
func (c Catch) Caught() bool { return c.Scenario != "" }

// Hunt is the measurement.
type Hunt struct {
	Run       Run
	Scenarios []string
	Bugs      []Bug
	Seeds     int // per bug and scenario: 1, 2, …
	Parallel  int // bugs at a time, default 1

	// First names, by bug, the scenario to begin with: who caught it last time.
	// It saves time and changes no result but the number of runs.
	First map[string]string

	// Note is told of what has just ended, one at a time; may be nil.
	Note func(text string)
}

// Score returns what became of each bug, in the order of Hunt.Bugs. Runs that have caught
// one are proved to pass without a bug.
func (h Hunt) Score(ctx context.Context) ([]Catch, error) {
	o, clean := newOrder(h.Scenarios), &clean{run: h.Run, proofs: make(map[seeded]func() error)}
	catches := make([]Catch, len(h.Bugs))
	return catches, h.each(ctx, len(h.Bugs), func(ctx context.Context, i int) (text string, err error) {
		if catches[i], err = h.hunt(ctx, o, h.Bugs[i]); err == nil && catches[i].Caught() {
			err = clean.passes(ctx, seeded{catches[i].Scenario, catches[i].Seed})
		}
		return line(catches[i]), err
	})
}

// clean has runs made without a bug, each of them once.
type clean struct {
	run Run

	mu     sync.Mutex
	proofs map[seeded]func() error // guarded by mu; why a scenario does not pass with a seed
}

type seeded struct {
	scenario string
	seed     uint64
}

// passes returns an error if the scenario fails, with that seed, anyway.
func (c *clean) passes(ctx context.Context, s seeded) error {
	c.mu.Lock()
	proof := c.proofs[s]
	if proof == nil {
		proof = sync.OnceValue(func() error {
			f, err := c.run(ctx, "", s.scenario, s.seed)
			if err == nil && f.Checker != "" {
				err = fmt.Errorf("mutation: without a bug, %s fails with seed %d: %s: %s", s.scenario, s.seed, f.Checker, f.Text)
			}
			return err
		})
		c.proofs[s] = proof
	}
	c.mu.Unlock()
	return proof()
}

// hunt looks for a run that catches the bug.
func (h Hunt) hunt(ctx context.Context, o *order, bug Bug) (Catch, error) {
	c := Catch{Bug: bug}
	for seed := range uint64(h.Seeds) {
		for _, scenario := range o.best(h.First[bug.Name]) {
			f, err := h.Run(ctx, bug.Name, scenario, seed+1)
			if err != nil {
				return c, err
			}
			c.Runs++
			caught := f.Checker != ""
			o.note(scenario, caught, f.Took)
			if caught {
				c.Scenario, c.Seed, c.Finding = scenario, seed+1, f
				return c, nil
			}
		}
	}
	return c, nil
}

// each does so many jobs, Parallel at a time, and stops at the first error.
func (h Hunt) each(ctx context.Context, jobs int, do func(ctx context.Context, i int) (string, error)) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(max(h.Parallel, 1))
	var noting sync.Mutex
	for i := range jobs {
		workers.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			text, err := do(ctx, i)
			if err != nil {
				return err
			}
			noting.Lock()
			defer noting.Unlock()
			if h.Note != nil {
				h.Note(text)
			}
			return nil
		})
	}
	return workers.Wait()
}

// order decides which scenarios are tried first: a pure core but for its lock.
// It may be used concurrently.
type order struct {
	mu    sync.Mutex
	marks []mark // guarded by mu
}

// mark is what is known of a scenario.
type mark struct {
	scenario string
	catches  int
	runs     int
	took     time.Duration // by all runs
}

func newOrder(scenarios []string) *order {
	o := &order{}
	for _, s := range scenarios {
		o.marks = append(o.marks, mark{scenario: s})
	}
	return o
}

// note takes in a run.
func (o *order) note(scenario string, caught bool, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.marks, func(m mark) bool { return m.scenario == scenario })
	m := &o.marks[i]
	m.runs++
	m.took += took
	if caught {
		m.catches++
	}
}

// best lists the scenarios: first, if there is one of that name, then who caught
// most, then who is quickest, then by name.
func (o *order) best(first string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	sorted := slices.Clone(o.marks)
	slices.SortFunc(sorted, func(a, b mark) int {
		return cmp.Or(
			cmp.Compare(rank(a.scenario, first), rank(b.scenario, first)),
			cmp.Compare(b.catches, a.catches), cmp.Compare(a.mean(), b.mean()), cmp.Compare(a.scenario, b.scenario))
	})
	names := make([]string, len(sorted))
	for i, m := range sorted {
		names[i] = m.scenario
	}
	return names
}

func rank(scenario, first string) int {
	if scenario == first {
		return 0
	}
	return 1
}

func (m mark) mean() time.Duration { return m.took / time.Duration(max(m.runs, 1)) }

// runLimit is how long one run may take in real time before it counts as hung.
// The program notices most hangs itself, and earlier.
const runLimit = 10 * time.Minute

// Exit statuses of `arke sim run`.
const (
	exitHeld   = 0
	exitBroken = 1 // the run did not come to its end, for whatever reason
	exitFailed = 10
)

// Program is an arke that Build has built.
type Program struct {
	Path string // absolute
	Dir  string // where it may leave replay files
}

// Run is a Run.
func (p Program) Run(ctx context.Context, bug, scenario string, seed uint64) (Finding, error) {
	limited, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.Path, "sim", "run", scenario, "--seed", fmt.Sprint(seed), "--json")
	cmd.Env = append(os.Environ(), Variable+"="+bug)
	cmd.Dir = p.Dir
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return Finding{}, context.Cause(ctx)
	case limited.Err() != nil:
		return Finding{Checker: "crash", Text: fmt.Sprintf("no end after %v", runLimit), Took: took}, nil
	case cmd.ProcessState == nil:
		return Finding{}, fmt.Errorf("mutation: %w", err)
	}
	switch code := cmd.ProcessState.ExitCode(); code {
	case exitHeld, exitFailed:
		return finding(out.Bytes(), took)
	case exitBroken:
		// Without a bug it came to its end: the network never stood, say.
		if bug != "" {
			return Finding{Checker: "start", Text: strings.TrimSpace(said.String()), Took: took}, nil
		}
		fallthrough
	default:
		return Finding{}, fmt.Errorf("mutation: %s, seed %d, bug %q: exit status %d: %s", scenario, seed, bug, code, said.Bytes())
	}
}

// finding reads the report of one run.
func finding(text []byte, took time.Duration) (Finding, error) {
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Finding{}, fmt.Errorf("mutation: the program printed no report: %w", err)
	}
	if r.Schema != report.Schema {
		return Finding{}, fmt.Errorf("mutation: a report of schema %d", r.Schema)
	}
	f := judge(&r)
	f.Took = took
	return f, nil
}

// judge names the first reason why a run is not as it should be: what a checker
// found says more than an assertion about numbers.
func judge(r *report.Report) Finding {
	if r.Error != "" {
		return Finding{Checker: "crash", Text: r.Error}
	}
	if len(r.Violations) > 0 {
		return Finding{Checker: r.Violations[0].Checker, Text: r.Violations[0].Text}
	}
	for _, a := range r.Assertions {
		if !a.OK && a.Kind == check.Assert {
			return Finding{Checker: a.Text, Text: "it is " + cmp.Or(a.Value, a.Reason, "unknown")}
		}
	}
	return Finding{}
}

// line is one bug's result for people who wait.
func line(c Catch) string {
	if !c.Caught() {
		return fmt.Sprintf("%s: NOT CAUGHT in %d runs", c.Bug.Name, c.Runs)
	}
	return fmt.Sprintf("%s: caught by %s, seed %d, run %d: %s: %s", c.Bug.Name, c.Scenario, c.Seed, c.Runs, c.Finding.Checker, clip(c.Finding.Text))
}

// clip keeps a text to a line.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > 120 {
		text = string(r[:119]) + "…"
	}
	return text
}

// Share sums up: how many bugs there are, how many were caught, and how many of
// these with the first seed.
func Share(catches []Catch) (bugs, caught, atOnce int) {
	for _, c := range catches {
		if c.Caught() {
			caught++
			if c.Seed == 1 {
				atOnce++
			}
		}
	}
	return len(catches), caught, atOnce
}

// WriteTable writes the score in Markdown: the share, each bug, what each
// scenario caught first, and what none can catch.
func WriteTable(w io.Writer, catches []Catch, seeds int) error {
	var b strings.Builder
	bugs, caught, atOnce := Share(catches)
	fmt.Fprintf(&b, "%d of %d bugs are caught (%d %%), %d of them with the first seed; at most %d seeds were tried.\n\n",
		caught, bugs, 100*caught/max(bugs, 1), atOnce, seeds)
	b.WriteString("| bug | in | what it does | promise broken | caught by | checker or assertion | seeds | runs |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range catches {
		scenario, checker, seed := cmp.Or(c.Scenario, "**nobody**"), "–", "–"
		if c.Caught() {
			checker, seed = "`"+c.Finding.Checker+"`", fmt.Sprint(c.Seed)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %d |\n",
			c.Bug.Name, c.Bug.Layer, c.Bug.Breaks, c.Bug.Promise, scenario, checker, seed, c.Runs)
	}
	b.WriteString("\n| scenario | bugs it caught first |\n|---|---|\n")
	first := make(map[string]int) // bugs, by the scenario that caught them before others could
	for _, c := range catches {
		if c.Caught() {
			first[c.Scenario]++
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		return cmp.Or(cmp.Compare(first[b], first[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "| %s | %d |\n", s, first[s])
	}
	b.WriteString("\n| out of the simulator's reach | because | caught by | tests |\n|---|---|---|---|\n")
	for _, e := range Beyond() {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", e.Defence, e.Why, e.Folder, strings.Join(e.Tests, "`, `"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ReadTable returns, by bug, who caught it according to a table that WriteTable
// wrote. What is no such table has nothing.
func ReadTable(text string) map[string]string {
	out := make(map[string]string)
	for row := range strings.Lines(text) {
		cells := strings.Split(row, " | ")
		if len(cells) == 8 && strings.HasPrefix(row, "| `") && !strings.HasPrefix(cells[4], "*") {
			out[strings.Trim(cells[0], "| `")] = cells[4]
		}
	}
	return out
}

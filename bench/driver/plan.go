// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/arke-mesh/arke/bench/system"
)

// Plan says what to run.
type Plan struct {
	Rounds int
	Times  Times
	// Quiet is the share of the machine that others may use beside a run; Again
	// is how often a run that they disturbed is made again.
	Quiet float64
	Again int
	Jobs  []Job
	// Log takes a line for each run.
	Log io.Writer
}

// Job is one workload with the systems that do it.
type Job struct {
	Work  Workload
	Among []Entry
}

// Entry is a system with the programs it is run with. Label is its name in the
// tables.
type Entry struct {
	Label  string
	System system.System
	Build  Build
}

// Run does everything of the plan, or what there is time for until ctx ends.
func (p Plan) Run(ctx context.Context) []Sample {
	return p.each(ctx, func(e Entry, w Workload) Sample { return Run(e.Build, e.System, w, p.Times) })
}

// turn is one system's turn in each round.
type turn struct {
	entry Entry
	work  Workload
}

// each does run for everything of the plan: workload by workload, those that
// belong together at once, and in each round all systems in turn.
func (p Plan) each(ctx context.Context, run func(Entry, Workload) Sample) []Sample {
	var samples []Sample
	for i := 0; i < len(p.Jobs); {
		var turns []turn
		first := p.Jobs[i].Work
		for ; i < len(p.Jobs); i++ {
			job := p.Jobs[i]
			if len(turns) > 0 && (first.Together == "" || first.Together != job.Work.Together) {
				break
			}
			if job.Work.HalfOf != "" {
				rate, err := halfRate(job, samples)
				if err != nil {
					fmt.Fprintf(p.Log, "%s: %v\n", job.Work.Name, err)
					continue
				}
				job.Work.Rate = rate
			}
			for _, e := range job.Among {
				turns = append(turns, turn{e, job.Work})
			}
		}
		for round := range p.Rounds {
			for n := range turns {
				if ctx.Err() != nil {
					return samples
				}
				// Another one is first in each round.
				t := turns[(n+round)%len(turns)]
				s := p.quietRun(t, run)
				s.Round = round
				fmt.Fprintln(p.Log, s)
				samples = append(samples, s)
			}
		}
	}
	return samples
}

// quietRun does one run, and again if others disturbed it: the quieter counts.
func (p Plan) quietRun(t turn, run func(Entry, Workload) Sample) (best Sample) {
	for i := range p.Again + 1 {
		s := run(t.entry, t.work)
		s.System, s.Workload = t.entry.Label, t.work.Name
		s.Noisy = s.Others > p.Quiet
		if i == 0 || best.Failed != "" || s.Failed == "" && s.Others < best.Others {
			best = s
		}
		if best.Failed == "" && !best.Noisy {
			break
		}
	}
	return best
}

// halfRate is half of what the slowest of the job's systems has carried.
func halfRate(job Job, samples []Sample) (float64, error) {
	slowest := math.Inf(1)
	for _, e := range job.Among {
		var rates []float64
		for _, s := range samples {
			if s.System == e.Label && s.Workload == job.Work.HalfOf && s.Failed == "" {
				rates = append(rates, s.Rate)
			}
		}
		if len(rates) == 0 {
			return 0, fmt.Errorf("%s has no result for %s", e.Label, job.Work.HalfOf)
		}
		slices.Sort(rates)
		slowest = min(slowest, rates[len(rates)/2])
	}
	return max(100, math.Floor(slowest/2/100)*100), nil
}

// String is the line of a run.
func (s Sample) String() string {
	head := fmt.Sprintf("%-12s %d  %-20s", s.Workload, s.Round, s.System)
	if s.Failed != "" {
		return head + " failed: " + s.Failed
	}
	line := fmt.Sprintf("%s %10.0f/s  %8.2f s/M  %7.1f MB", head, s.Rate, s.CPU, float64(s.Peak)/1e6)
	if h := s.Histogram(); h != nil {
		line += fmt.Sprintf("  p50 %.0f p99 %.0f µs", float64(h.ValueAtQuantile(50))/1e3, float64(h.ValueAtQuantile(99))/1e3)
	}
	if wrong := s.Wrong(); wrong != "" {
		line += "  " + wrong
	}
	if s.Noisy {
		line += fmt.Sprintf("  (others used %.0f %% of the machine)", 100*s.Others)
	}
	return line
}

// Wrong says what did not go well: "" if everything did.
func (s Sample) Wrong() string {
	var words []string
	count := func(n uint64, what string) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	if s.Lost > 0 || s.Told > 0 {
		words = append(words, fmt.Sprintf("%d lost (%d told) of %d", s.Lost, s.Told, s.Expected))
	}
	count(s.Duplicated, "repeated")
	count(s.Disordered, "out of order")
	count(s.Damaged, "damaged")
	count(uint64(s.Stalls), "stalls of the window")
	count(s.Behind, "not begun in time")
	for text, n := range s.Errors {
		count(n, "× "+text)
	}
	return strings.Join(words, ", ")
}

// List prints systems and workloads.
func List(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	for _, s := range system.All() {
		state := ""
		if s.Missing != nil && s.Missing() != nil {
			state = "  (" + s.Missing().Error() + ")"
		}
		fmt.Fprintf(t, "%s\t%s%s\n", s.Name, s.About, state)
	}
	fmt.Fprintln(t)
	for _, w := range Workloads() {
		fmt.Fprintf(t, "%s\t%s\n", w.Name, w.About)
	}
}

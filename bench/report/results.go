// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/bench/driver"
	"github.com/arke-mesh/arke/bench/system"
)

// Results is everything that a run of the benchmark has found: the form of
// results.json.
type Results struct {
	Command string          `json:"command,omitempty"` // that made it; "" = that of make bench-peers
	Machine driver.Machine  `json:"machine"`
	Systems []System        `json:"systems"`
	Samples []driver.Sample `json:"samples"`
}

// System is what was measured, or why it was not.
type System struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Version string `json:"version,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// Write makes results.json, results.md and plots of r in dir.
func Write(dir string, r Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	plots, plotted := Plots(dir, r.Samples)
	return errors.Join(
		plotted,
		os.WriteFile(filepath.Join(dir, "results.json"), append(raw, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "results.md"), []byte(r.markdown(plots)), 0o644),
	)
}

// With adds what others have that r lacks: systems, and samples of a system in a
// workload. Rounds of both together are compared as if they were of one run.
func (r Results) With(others Results) Results {
	type key struct{ system, workload string }
	has := map[key]bool{}
	for _, s := range r.Samples {
		has[key{s.System, s.Workload}] = true
	}
	r.Samples, r.Systems = slices.Clone(r.Samples), slices.Clone(r.Systems)
	for _, s := range others.Samples {
		if !has[key{s.System, s.Workload}] {
			r.Samples = append(r.Samples, s)
		}
	}
	for _, s := range others.Systems {
		if !slices.ContainsFunc(r.Systems, func(known System) bool { return known.Name == s.Name }) {
			r.Systems = append(r.Systems, s)
		}
	}
	rank := func(list []string) map[string]int {
		ranks := map[string]int{}
		for i, name := range list {
			ranks[name] = i
		}
		return ranks
	}
	var works, systems []string
	for _, w := range driver.Workloads() {
		works = append(works, w.Name)
	}
	for _, s := range system.All() {
		systems = append(systems, s.Name)
	}
	work, sys := rank(works), rank(systems)
	slices.SortStableFunc(r.Samples, func(a, b driver.Sample) int {
		return cmp.Or(cmp.Compare(work[a.Workload], work[b.Workload]), cmp.Compare(sys[a.System], sys[b.System]), cmp.Compare(a.Round, b.Round))
	})
	slices.SortStableFunc(r.Systems, func(a, b System) int { return cmp.Compare(sys[a.Name], sys[b.Name]) })
	return r
}

// Read reads a results.json.
func Read(path string) (Results, error) {
	var r Results
	raw, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(raw, &r)
}

// elsewhere names the bars that are no comparison of processes on loopback.
const elsewhere = `
Two bars are held by tests, which count or run in virtual time: small requests beside saturated bulk on a slow link by the
scenario slow-link (make scenarios), allocations per message by tests/counts/bounds_test.go.
`

func join(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " or ")
}

func (r Results) markdown(plots []string) string {
	var b strings.Builder
	m := r.Machine
	var rounds []int // of each system in each workload
	runs := map[[2]string]int{}
	for _, s := range r.Samples {
		runs[[2]string{s.System, s.Workload}]++
	}
	for _, n := range runs {
		rounds = append(rounds, n)
	}
	slices.Sort(rounds)
	rounds = slices.Compact(rounds)
	fmt.Fprintf(&b, "# Arke beside its peers: results\n\nMade by `%s`; [README.md](../README.md) says how. Rounds of each system: %s; systems take turns in each.\n\n", cmp.Or(r.Command, "make bench-peers"), join(rounds))
	fmt.Fprintf(&b, "Machine: %s, %d cores, %.0f GB, Linux %s, Go %s. All on loopback.\n", m.CPU, m.Cores, float64(m.MemoryB)/1e9, m.Kernel, m.Go)
	fmt.Fprintf(&b, "Raw figures: [results.json](results.json). Below: [bars](#bars), [plots](#plots), [each workload](#workloads), [systems and versions](#systems).\n")
	Glance(&b, r.Samples)
	BarsTable(&b, r.Samples, true)
	b.WriteString(elsewhere)
	TreesTable(&b, r.Samples)
	if len(plots) > 0 {
		b.WriteString("\n## Plots\n\n")
		for _, p := range plots {
			fmt.Fprintf(&b, "![%s](%s)\n", strings.TrimSuffix(p, ".svg"), p)
		}
	}
	b.WriteString("\n## Workloads\n\nMedians of the rounds. A percentile with a star is of all rounds together. Others' CPU is the share of the machine that other processes used meanwhile.\n")
	Table(&b, r.Samples)
	b.WriteString("\n## Systems\n\n| system | version | what |\n|---|---|---|\n")
	for _, s := range r.Systems {
		about := s.About
		if s.Skipped != "" {
			about += "; **skipped: " + s.Skipped + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, s.Version, about)
	}
	return b.String()
}

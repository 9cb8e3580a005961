// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arke-mesh/arke/bench/driver"
)

// Results is everything that a run of the benchmark has found: the form of
// results.json.
type Results struct {
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

// Read reads a results.json.
func Read(path string) (Results, error) {
	var r Results
	raw, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(raw, &r)
}

func (r Results) markdown(plots []string) string {
	var b strings.Builder
	m := r.Machine
	rounds := 0
	for _, s := range r.Samples {
		rounds = max(rounds, s.Round+1)
	}
	fmt.Fprintf(&b, "# Arke beside its peers: results\n\nMade by `make bench-peers`; [README.md](../README.md) says how. %d rounds, systems in turn.\n\n", rounds)
	fmt.Fprintf(&b, "Machine: %s, %d cores, %.0f GB, Linux %s, Go %s. All on loopback.\n", m.CPU, m.Cores, float64(m.MemoryB)/1e9, m.Kernel, m.Go)
	BarsTable(&b, r.Samples)
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

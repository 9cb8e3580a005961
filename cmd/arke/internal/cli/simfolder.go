// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
	"github.com/arke-mesh/arke/sim/scenario"
)

// What --out writes for a run.
const (
	reportPage   = "report.html"
	reportFile   = "report.json"
	scenarioFile = "scenario.json"
	reproFile    = "repro.sh"
)

// writeSimFolder writes everything about a run into a folder, which it makes.
func writeSimFolder(dir string, job runner.Job, r *report.Report, file string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := json.MarshalIndent(job.Scenario, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, scenarioFile), append(s, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, reproFile), []byte(repro(job, r, file)), 0o755); err != nil {
		return err
	}
	if err := writeTo(filepath.Join(dir, reportFile), r.WriteJSON); err != nil {
		return err
	}
	return writeTo(filepath.Join(dir, reportPage), r.WriteHTML)
}

// repro is a script that repeats the run.
func repro(job runner.Job, r *report.Report, file string) string {
	commit := r.Commit
	if commit == "" {
		commit = "an unknown commit"
	}
	return fmt.Sprintf(`#!/bin/sh
# %s, seed %d, level %s, from %s.
# Made by arke of %s, %s, %s; the same program gives the same run at level sim.
cd "$(dirname "$0")" || exit 1
exec "${ARKE:-arke}" sim run %s --level %s "$@"
`, oneLine(job.Scenario.Name), job.Seed, job.Level, oneLine(file), commit, r.GoVersion, r.Host, scenarioFile, job.Level)
}

// oneLine keeps a name from ending a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func writeSimSummary(dir string, sum *report.Summary) error {
	name := fmt.Sprintf("%s-%s.json", safeName(sum.Name), sum.Level)
	return writeTo(filepath.Join(dir, name), sum.WriteJSON)
}

func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// safeName makes a folder's name of a scenario's.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, name)
	if name == "" {
		return "scenario"
	}
	return name
}

// printExpanded prints a scenario as JSON that 'arke sim run' reads.
func printExpanded(w io.Writer, s scenario.Scenario) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

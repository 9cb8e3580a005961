// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/report"
)

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

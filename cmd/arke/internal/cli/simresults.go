// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/runner"
)

// simResults prints and keeps the results of `arke sim run`.
type simResults struct {
	App
	flags simRunFlags
	many  bool // so that a run that is fine gets one line only

	files   []string                    // in the order of their first results
	reports map[string][]*report.Report // by file, without their histories
	failed  int                         // runs in which something did not hold
	differ  int                         // runs that differ from their repetition
	err     error                       // the first that is no result of a run
}

// add takes a result and prints it.
func (r *simResults) add(job simJob, result runner.Result) {
	causes := result.Causes()
	if result.Err != nil && len(causes) == 0 {
		r.keep(fmt.Errorf("%s: %w", job.label(), result.Err))
		return
	}
	prepared, err := job.Prepare()
	if err != nil {
		r.keep(err)
		return
	}
	rep := simReport(prepared, result, job.file)
	dir, err := r.write(prepared, rep, job)
	r.keep(err)
	replay := ""
	if len(causes) > 0 {
		r.failed++
		f, err := runner.NewFailure(result)
		if err == nil {
			replay, err = f.Write(dir)
		}
		r.keep(err)
	}
	r.remember(job.file, rep)
	difference := ""
	if result.Outcome != nil {
		difference = result.Outcome.Difference
	}
	if difference != "" {
		r.differ++
		fmt.Fprintf(r.Stderr, "%s: the repetition is not the same run\n%s\n", job.label(), difference)
	}
	if r.flags.asJSON {
		r.keep(rep.WriteJSON(r.Stdout))
		return
	}
	r.keep(writeSimResult(r.Stdout, rep, simText{brief: r.many && len(causes) == 0, replay: replay, folder: r.folder(dir)}))
	r.output(result.Err)
}

// output shows the end of what a crashed run printed.
func (r *simResults) output(err error) {
	var child *runner.ChildError
	if errors.As(err, &child) {
		fmt.Fprint(r.Stderr, lastLines(string(child.Output), 40))
	}
}

// simReport makes the report of a run that came to its end or crashed.
func simReport(job runner.Job, result runner.Result, file string) *report.Report {
	if result.Outcome == nil {
		info := runner.About(job)
		info.File, info.Error = file, strings.TrimPrefix(result.Err.Error(), "runner: ")
		return report.New(info, job.Scenario, nil, nil)
	}
	o := result.Outcome
	info := o.Info
	info.File = file
	return report.New(info, job.Scenario, o.History, o.Verdict)
}

// write makes the run's folder and returns it; without --out it is the current
// one, for the replay file.
func (r *simResults) write(job runner.Job, rep *report.Report, from simJob) (string, error) {
	if r.flags.out == "" {
		return ".", nil
	}
	dir := filepath.Join(r.flags.out, fmt.Sprintf("%s-%s-%d", safeName(job.Scenario.Name), job.Level, job.Seed))
	return dir, writeSimFolder(dir, job, rep, from.file)
}

func (r *simResults) folder(dir string) string {
	if r.flags.out == "" {
		return ""
	}
	return dir
}

// remember keeps a report for the summary, without the history that it holds.
func (r *simResults) remember(file string, rep *report.Report) {
	if !r.many {
		return
	}
	text, err := json.Marshal(rep)
	if err != nil {
		r.keep(err)
		return
	}
	var light report.Report
	if r.keep(json.Unmarshal(text, &light)); light.Schema == 0 {
		return
	}
	light.Checkpoints = nil
	if r.reports == nil {
		r.reports = map[string][]*report.Report{}
	}
	if r.reports[file] == nil {
		r.files = append(r.files, file)
	}
	r.reports[file] = append(r.reports[file], &light)
}

// keep remembers the first error.
func (r *simResults) keep(err error) {
	if err == nil {
		return
	}
	// That the user ended it is said last and hides nothing.
	if r.err == nil || errors.Is(r.err, context.Canceled) {
		r.err = err
	}
}

// end prints the summaries and returns what decides the exit status.
func (r *simResults) end() error {
	for _, file := range r.files {
		if len(r.reports[file]) > 1 {
			r.keep(r.summarize(report.Summarize(r.reports[file])))
		}
	}
	switch {
	case r.err != nil:
		return simError(r.err)
	case r.failed > 0:
		return &statusError{code: simFailed, text: plural(r.failed, "run") + " failed"}
	case r.differ > 0:
		return &statusError{code: simDiffers, text: plural(r.differ, "run") + " differed from the repetition: something decides that the seed does not"}
	}
	return nil
}

func (r *simResults) summarize(sum *report.Summary) error {
	if r.flags.out != "" {
		if err := writeSimSummary(r.flags.out, sum); err != nil {
			return err
		}
	}
	if r.flags.asJSON {
		return nil
	}
	return writeSummary(r.Stdout, sum)
}

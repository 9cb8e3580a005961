// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/bench/driver"
	"github.com/arke-mesh/arke/bench/report"
	"github.com/arke-mesh/arke/bench/system"
)

// choice is what the user asked for.
type choice struct {
	systems, work string
	full          bool
}

// execute builds what is needed, runs it and reports.
func execute(ctx context.Context, plan driver.Plan, c choice, trees map[string]string, out string) error {
	dir, err := os.MkdirTemp("", "arke-bench-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	builds, err := build(dir, trees)
	if err != nil {
		return err
	}
	if plan.Jobs, err = c.jobs(builds); err != nil {
		return err
	}
	plan.Log = os.Stdout
	systems := c.described()
	for _, s := range systems {
		if s.Skipped != "" {
			fmt.Printf("%s is skipped: %s\n", s.Name, s.Skipped)
		}
	}
	began := time.Now()
	samples := plan.Run(ctx)
	tables(samples)
	fmt.Printf("\n%d runs in %v.\n", len(samples), time.Since(began).Round(time.Second))
	if out != "" {
		r := report.Results{Command: strings.Join(append([]string{"bin/bench"}, os.Args[1:]...), " "), Machine: driver.ThisMachine(), Systems: systems, Samples: samples}
		return errors.Join(report.Write(out, r), context.Cause(ctx))
	}
	return context.Cause(ctx)
}

func tables(samples []driver.Sample) {
	report.Table(os.Stdout, samples)
	report.Glance(os.Stdout, samples)
	report.BarsTable(os.Stdout, samples, false)
	report.TreesTable(os.Stdout, samples)
}

// again reports what was measured before. Several files, separated by commas, are
// one: what two of them have of a system and a workload is that of the first.
func again(from, out string) error {
	var all report.Results
	for i, path := range strings.Split(from, ",") {
		r, err := report.Read(path)
		if err != nil {
			return err
		}
		if i == 0 {
			all = r
		} else {
			all = all.With(r)
		}
	}
	if out != "" {
		return report.Write(out, all)
	}
	tables(all.Samples)
	return nil
}

// described says what each system is that the user asked for, and why it is
// skipped if it is.
func (c choice) described() []report.System {
	var all []report.System
	var compared []string
	for _, systems := range wanted(report.Bars()) {
		compared = append(compared, systems...)
	}
	for _, s := range system.All() {
		if !matches(c.systems, s.Name) || c.systems == "" && !c.full && !slices.Contains(compared, s.Name) {
			continue
		}
		d := report.System{Name: s.Name, About: s.About}
		if s.Missing != nil {
			if err := s.Missing(); err != nil {
				d.Skipped = err.Error()
			}
		}
		if d.Skipped == "" && s.Version != nil {
			d.Version = s.Version()
		}
		all = append(all, d)
	}
	return all
}

// build builds the programs of each tree of Arke; "" is this one.
func build(dir string, trees map[string]string) (map[string]driver.Build, error) {
	self, err := driver.BuildTree("", dir, "this")
	if err != nil {
		return nil, err
	}
	builds := map[string]driver.Build{"": self}
	for name, tree := range trees {
		if builds[name], err = driver.BuildTree(tree, dir, name); err != nil {
			return nil, err
		}
	}
	return builds, nil
}

// jobs are the workloads with their systems: those asked for, or those that the
// bars compare.
func (c choice) jobs(builds map[string]driver.Build) ([]driver.Job, error) {
	var jobs []driver.Job
	bars := wanted(report.Bars())
	for _, w := range driver.Workloads() {
		if !matches(c.work, w.Name) {
			continue
		}
		job := driver.Job{Work: w}
		for _, s := range system.All() {
			asked := c.systems != "" && matches(c.systems, s.Name) && (c.work != "" || c.full || bars[w.Name] != nil)
			// Half of what the slowest carries is to be that of the two compared.
			usual := c.systems == "" && (c.full && w.HalfOf == "" || slices.Contains(bars[w.Name], s.Name))
			if (asked || usual) && w.Suits(s) {
				job.Among = append(job.Among, entries(s, builds)...)
			}
		}
		if len(job.Among) > 0 {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) == 0 {
		return nil, errors.New("no system does that work: -list names them all")
	}
	return jobs, nil
}

// entries are a system with each tree of Arke, if it is Arke's and is installed.
func entries(s system.System, builds map[string]driver.Build) []driver.Entry {
	if s.Missing != nil && s.Missing() != nil {
		return nil
	}
	all := []driver.Entry{{Label: s.Name, System: s, Build: builds[""]}}
	if !strings.HasPrefix(s.Name, "arke") {
		return all
	}
	for name, b := range builds {
		if name != "" {
			all = append(all, driver.Entry{Label: s.Name + "@" + name, System: s, Build: b})
		}
	}
	return all
}

// wanted returns the systems that the bars compare, by workload.
func wanted(bars []report.Bar) map[string][]string {
	systems := map[string][]string{}
	for _, b := range bars {
		systems[b.Workload] = append(systems[b.Workload], b.System)
		systems[b.Against] = append(systems[b.Against], b.Reference)
	}
	return systems
}

// matches says whether a list of names, some of which end in a star, has name;
// the empty list has all.
func matches(list, name string) bool {
	if list == "" {
		return true
	}
	for one := range strings.SplitSeq(list, ",") {
		prefix, star := strings.CutSuffix(one, "*")
		if one == name || star && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

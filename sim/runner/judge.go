// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"runtime"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/scenario"
)

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
		Commit: commit(), GoVersion: runtime.Version(), Host: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// rules are the scenario's own assertions and limits, and the bounds that
// package check has for the level.
func rules(job Job) check.Rules {
	r := check.LevelRules(job.Level)
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
	r.Assert, r.Sometimes = texts(job.Scenario.Assert), texts(job.Scenario.Sometimes)
	return r
}

func texts(all []scenario.Assertion) []string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = string(a)
	}
	return texts
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
)

// Findings is what a run brought. It is never changed once returned.
type Findings struct {
	Info    report.Info
	History *history.History
	Verdict *check.Verdict // nil if Job.Until cut the run short
	Trace   []byte         // the events of Job.Trace, one a line

	// Difference says how the run differs from its repetition, if there was one
	// (Repeat); "" = not at all.
	Difference string
}

// Cause is one reason for which a run fails.
type Cause struct {
	Checker string        `json:"checker"` // a checker's name, the text of an assertion, or "crash"
	Kind    string        `json:"kind"`    // violation, assert, sometimes or crash
	At      time.Duration `json:"at_ns,omitempty"`
	Text    string        `json:"text"`
}

// Same says whether both name the same checker, wherever and whenever it found
// something.
func (c Cause) Same(o Cause) bool { return c.Checker == o.Checker && c.Kind == o.Kind }

// Causes returns why the run fails: violations of the checkers first, then
// assertions that don't hold. None = it passed.
func (o *Findings) Causes() []Cause {
	var causes []Cause
	if o.Verdict == nil {
		return nil
	}
	for _, v := range o.Verdict.Violations {
		causes = append(causes, Cause{Checker: v.Checker, Kind: "violation", At: v.At, Text: v.Text})
	}
	for _, r := range o.Verdict.Assertions {
		if !r.OK {
			causes = append(causes, Cause{Checker: r.Text, Kind: r.Kind, Text: unmet(r)})
		}
	}
	return causes
}

func unmet(r check.Result) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Value != "":
		return "it is " + r.Value
	}
	return "it does not hold"
}

// OK says whether everything held.
func (o *Findings) OK() bool { return o.Verdict == nil || o.Verdict.OK }

// Progress is how far a run is.
type Progress struct {
	Virtual time.Duration // time of the run that has passed
	Whole   time.Duration // that it will take
	Real    time.Duration // time that it took so far
	Events  uint64        // level sim: events so far
}

// Ratio is virtual time per real time.
func (p Progress) Ratio() float64 {
	if p.Real <= 0 {
		return 0
	}
	return float64(p.Virtual) / float64(p.Real)
}

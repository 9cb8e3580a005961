// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// Verdict is what Judge found. It shares nothing with the history.
type Verdict struct {
	OK         bool              `json:"ok"` // every assertion holds, and there are no violations
	Metrics    map[string]Metric `json:"metrics"`
	Assertions []Result          `json:"assertions"`       // in the order of Rules.Assert, then of Rules.Sometimes
	Violations []Violation       `json:"violations"`       // by time, then by checker and text; at most 100 of each checker
	Counts     map[string]int    `json:"counts,omitempty"` // checker → all its violations, if there are any
}

// Metric is a measured value. What could not be measured, such as detection
// times in a run in which nobody died, has no Metric.
type Metric struct {
	Value   float64 `json:"value"` // in Unit
	Unit    Unit    `json:"unit"`
	Samples int     `json:"samples,omitempty"` // how many observations a percentile, a share or a mean is made of
}

// Kinds of assertions.
const (
	Assert    = "assert"
	Sometimes = "sometimes"
)

// Result is how an assertion came out.
type Result struct {
	Text   string `json:"text"`
	Kind   string `json:"kind"`             // assert or sometimes
	Value  string `json:"value"`            // the metric's, for people; "" if there is none
	Reason string `json:"reason,omitempty"` // why it could not be decided, which counts as a failure
	OK     bool   `json:"ok"`
}

// Violation is a broken promise.
type Violation struct {
	Checker string        `json:"checker"` // who found it; see Checkers
	At      time.Duration `json:"at"`      // nanoseconds since the run began
	Text    string        `json:"text"`
}

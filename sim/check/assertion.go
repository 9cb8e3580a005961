// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
)

// Assertion is a claim about a metric: "lost == 0", "reroute_p99 < 100ms",
// "success >= 99.99%", "control_bytes_per_node_s < 2KB", "lost{idem} == 0".
type Assertion struct {
	Metric string  // with the work in braces, if it is about one
	Op     string  // == != < <= > >=
	Value  float64 // in the metric's unit
	text   string
}

// maxAssertion bounds what ParseAssertion looks at, in bytes.
const maxAssertion = 200

// ParseAssertion reads "metric op value" or "metric{work} op value". The value
// must fit the metric's unit: a whole number, a number, a duration ("1.5s"), a
// percentage ("99.9%") or a size ("64KiB", "2KB", "4096"; of a rate also
// "2KB/s"). The error says what is wrong, and which metrics have a name like
// one that does not exist.
func ParseAssertion(text string) (Assertion, error) {
	a, err := parseAssertion(strings.TrimSpace(text))
	if err != nil {
		return Assertion{}, fmt.Errorf("check: assertion %s: %w", quote(text), err)
	}
	return a, nil
}

func parseAssertion(text string) (Assertion, error) {
	if len(text) > maxAssertion {
		return Assertion{}, fmt.Errorf("longer than %d bytes", maxAssertion)
	}
	at := strings.IndexAny(text, "=!<>")
	if at < 0 {
		return Assertion{}, fmt.Errorf(`want "metric op value", op one of %s`, strings.Join(operators(), " "))
	}
	name := strings.TrimSpace(text[:at])
	op, value := splitOperator(text[at:])
	if op == "" {
		return Assertion{}, fmt.Errorf("op must be one of %s", strings.Join(operators(), " "))
	}
	info, err := metric(name)
	if err != nil {
		return Assertion{}, err
	}
	v, err := parseValue(value, info.Unit)
	if err != nil {
		return Assertion{}, fmt.Errorf("%s: %w", name, err)
	}
	return Assertion{Metric: name, Op: op, Value: v, text: name + " " + op + " " + value}, nil
}

// metric finds what a name with or without a work in braces means.
func metric(name string) (MetricInfo, error) {
	base, work, ofWork := strings.Cut(name, "{")
	info, ok := lookup(base)
	switch {
	case !ok:
		return MetricInfo{}, unknown(base)
	case !ofWork:
		return info, nil
	case !info.PerWork:
		return MetricInfo{}, fmt.Errorf("%s is not measured for single works", base)
	case len(work) < 2 || strings.IndexAny(work, "{} ") != len(work)-1 || work[len(work)-1] != '}':
		return MetricInfo{}, fmt.Errorf("%s must end in the name of a work in braces", quote(name))
	}
	return info, nil
}

// operators has the longer ones first.
func operators() []string { return []string{"==", "!=", "<=", ">=", "<", ">"} }

func splitOperator(text string) (op, rest string) {
	for _, op := range operators() {
		if rest, ok := strings.CutPrefix(text, op); ok {
			return op, strings.TrimSpace(rest)
		}
	}
	return "", ""
}

func unknown(name string) error {
	if name == "" {
		return fmt.Errorf(`the metric is missing: want "metric op value"`)
	}
	near := near(name)
	if len(near) == 0 {
		return fmt.Errorf("no metric is called %s", quote(name))
	}
	return fmt.Errorf("no metric is called %s; near: %s", quote(name), strings.Join(near, ", "))
}

func quote(text string) string {
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// Holds says whether the claim is true of a value in the metric's unit.
func (a Assertion) Holds(v float64) bool {
	switch a.Op {
	case "==":
		return v == a.Value
	case "!=":
		return v != a.Value
	case "<":
		return v < a.Value
	case "<=":
		return v <= a.Value
	case ">":
		return v > a.Value
	case ">=":
		return v >= a.Value
	default:
		return false
	}
}

// String returns the assertion in its usual form.
func (a Assertion) String() string { return a.text }

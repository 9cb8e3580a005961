// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
)

// Assertion is a claim about a metric: "lost == 0", "reroute_p99 < 100ms",
// "success >= 99.99%", "control_bytes_per_node_s < 2KB".
type Assertion struct {
	Metric string
	Op     string  // == != < <= > >=
	Value  float64 // in the metric's unit
	text   string
}

// maxAssertion bounds what ParseAssertion looks at, in bytes.
const maxAssertion = 200

// ParseAssertion reads "metric op value". The value must fit the metric's unit:
// a whole number, a number, a duration ("1.5s"), a percentage ("99.9%") or a
// size ("64KiB", "2KB", "4096"; of a rate also "2KB/s"). The error says what is
// wrong, and which metrics have a name like one that does not exist.
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
	info, ok := lookup(name)
	if !ok {
		return Assertion{}, unknown(name)
	}
	v, err := parseValue(value, info.Unit)
	if err != nil {
		return Assertion{}, fmt.Errorf("%s: %w", name, err)
	}
	return Assertion{Metric: name, Op: op, Value: v, text: name + " " + op + " " + value}, nil
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

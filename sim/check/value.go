// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/nearest"
)

// parseValue reads a value that fits the unit.
func parseValue(text string, u Unit) (float64, error) {
	var v float64
	var err error
	switch u {
	case Count:
		v, err = whole(text)
	case Ratio:
		v, err = number(text, "a number, such as 1.5")
	case Percent:
		v, err = percentage(text)
	case Millis:
		v, err = duration(text)
	case Bytes:
		v, err = size(text)
	case BytesSec:
		v, err = size(strings.TrimSuffix(text, "/s"))
	default:
		panic("BUG: a metric without a unit")
	}
	if err == nil && v < 0 {
		err = errors.New("no metric is ever negative")
	}
	return v, err
}

func number(text, want string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	// ParseFloat also reads hexadecimal, "inf" and "1_000".
	if err != nil || strings.Trim(text, "0123456789.-") != "" || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not %s", text, want)
	}
	return v, nil
}

func whole(text string) (float64, error) {
	v, err := number(text, "a whole number")
	if err == nil && v != math.Trunc(v) {
		err = fmt.Errorf("%q is not a whole number", text)
	}
	return v, err
}

func percentage(text string) (float64, error) {
	digits, ok := strings.CutSuffix(text, "%")
	if !ok && text != "0" {
		return 0, fmt.Errorf("%q is not a percentage, such as 99.9%%", text)
	}
	v, err := number(digits, "a percentage, such as 99.9%")
	if err == nil && v > 100 {
		err = fmt.Errorf("%q is more than all", text)
	}
	return v, err
}

func duration(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration, such as 100ms or 1.5s", text)
	}
	return millis(d), nil
}

// size reads "64KiB", "2KB" or a whole number of bytes.
func size(text string) (float64, error) {
	factor := 1.0
	digits := text
	for _, u := range SizeUnits() {
		if rest, ok := strings.CutSuffix(text, u.Name); ok {
			factor, digits = float64(u.Bytes), strings.TrimSuffix(rest, " ")
			break
		}
	}
	v, err := number(digits, "a size, such as 64KiB, 2KB or 4096")
	if err != nil {
		return 0, fmt.Errorf("%q is not a size, such as 64KiB, 2KB or 4096", text)
	}
	return v * factor, nil
}

// SizeUnit may stand behind a number of bytes.
type SizeUnit struct {
	Name  string
	Bytes int64
}

// SizeUnits are the units of sizes, in assertions and in scenarios; the binary ones come
// first, and none is the end of one that comes later.
func SizeUnits() []SizeUnit {
	return []SizeUnit{
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"GB", 1e9},
		{"MB", 1e6},
		{"KB", 1e3},
		{"B", 1},
	}
}

// millis is exact enough to be compared: equal durations give equal values, and
// longer ones larger ones, up to months.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// String writes the value with its unit.
func (m Metric) String() string {
	switch m.Unit {
	case Millis:
		return time.Duration(m.Value * float64(time.Millisecond)).Round(time.Microsecond).String()
	case Percent:
		// Rounded up, 99.9999999 would read as all.
		return strconv.FormatFloat(math.Floor(m.Value*1e6)/1e6, 'f', -1, 64) + "%"
	case Bytes:
		return sizeText(m.Value)
	case BytesSec:
		return sizeText(m.Value) + "/s"
	case Ratio:
		return strconv.FormatFloat(math.Round(m.Value*1000)/1000, 'f', -1, 64)
	default:
		return strconv.FormatFloat(m.Value, 'f', -1, 64)
	}
}

func sizeText(v float64) string {
	for _, u := range SizeUnits()[:3] {
		if size := float64(u.Bytes); v >= size {
			return strconv.FormatFloat(math.Round(v/size*100)/100, 'f', -1, 64) + u.Name
		}
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + "B"
}

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
	var all []string
	for _, m := range Metrics() {
		all = append(all, m.Name)
	}
	near := nearest.Names(name, max(2, len(name)/3), all)
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
	return map[string]bool{
		"==": v == a.Value,
		"!=": v != a.Value,
		"<":  v < a.Value,
		"<=": v <= a.Value,
		">":  v > a.Value,
		">=": v >= a.Value,
	}[a.Op]
}

// String returns the assertion in its usual form.
func (a Assertion) String() string { return a.text }

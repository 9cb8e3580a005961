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
	for _, s := range sizes() {
		if rest, ok := strings.CutSuffix(text, s.name); ok {
			factor, digits = s.bytes, strings.TrimSuffix(rest, " ")
			break
		}
	}
	v, err := number(digits, "a size, such as 64KiB, 2KB or 4096")
	if err != nil {
		return 0, fmt.Errorf("%q is not a size, such as 64KiB, 2KB or 4096", text)
	}
	return v * factor, nil
}

type sizeName struct {
	name  string
	bytes float64
}

// sizes are the suffixes of sizes; none is the end of one that comes later.
func sizes() []sizeName {
	return []sizeName{
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
	for _, s := range sizes()[:3] {
		if v >= s.bytes {
			return strconv.FormatFloat(math.Round(v/s.bytes*100)/100, 'f', -1, 64) + s.name
		}
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + "B"
}

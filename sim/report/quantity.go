// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"
)

// inMillis writes a number of milliseconds as a person would: "250 µs",
// "1.5 ms", "2 s".
func inMillis(ms float64) string {
	switch {
	case ms <= 0:
		return "0"
	case ms < 0.9995:
		return trim(fmt.Sprintf("%.3g", ms*1000)) + " µs"
	case ms < 999.5:
		return trim(fmt.Sprintf("%.3g", ms)) + " ms"
	case ms < 999_500:
		return trim(fmt.Sprintf("%.3g", ms/1000)) + " s"
	}
	return trim(fmt.Sprintf("%.1f", ms/60000)) + " min"
}

// amount writes a number with few digits: "950", "12.4 k", "3.1 M".
func amount(v float64) string {
	switch {
	case v < 999.5:
		return trim(fmt.Sprintf("%.3g", v))
	case v < 999_500:
		return trim(fmt.Sprintf("%.1f", v/1e3)) + " k"
	case v < 999_500_000:
		return trim(fmt.Sprintf("%.1f", v/1e6)) + " M"
	}
	return trim(fmt.Sprintf("%.1f", v/1e9)) + " G"
}

// size writes a number of bytes: "812 B", "14.2 KB". A KB has 1,000 bytes.
func size(bytes float64) string {
	if bytes < 999.5 {
		return trim(fmt.Sprintf("%.0f", bytes)) + " B"
	}
	return strings.Replace(amount(bytes), "k", "K", 1) + "B"
}

// grouped writes a whole number with its thousands apart: "200,000".
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural writes how many there are of something.
func plural(n int, word string) string {
	switch {
	case n == 1:
		return "1 " + word
	case strings.HasSuffix(word, "y"):
		return grouped(n) + " " + strings.TrimSuffix(word, "y") + "ies"
	case strings.HasSuffix(word, "fe"):
		return grouped(n) + " " + strings.TrimSuffix(word, "fe") + "ves"
	}
	return grouped(n) + " " + word + "s"
}

// clock writes a time of the run.
func clock(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// ended writes an end, or that there was none.
func ended(t time.Duration) string {
	if t < 0 {
		return "the end"
	}
	return clock(t)
}

// trim takes the zeros off the end of a decimal fraction.
func trim(s string) string {
	if !strings.ContainsRune(s, '.') || strings.ContainsRune(s, 'e') {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

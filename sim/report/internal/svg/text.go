// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"fmt"
	"strings"
	"time"
)

// Millis writes a number of milliseconds as a person would: "250 µs", "1.5 ms",
// "2 s".
func Millis(ms float64) string {
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

// clock writes a time on an axis whose ticks are a step apart.
func clock(at, step time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case step >= time.Hour:
		return trim(fmt.Sprintf("%.1f", at.Hours())) + " h"
	case step >= time.Minute:
		return trim(fmt.Sprintf("%.1f", at.Minutes())) + " min"
	case step >= time.Second:
		return trim(fmt.Sprintf("%.1f", at.Seconds())) + " s"
	}
	return trim(fmt.Sprintf("%.3f", at.Seconds())) + " s"
}

// Amount writes a number with few digits: "950", "12.4 k", "3.1 M".
func Amount(v float64) string {
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

// Size writes a number of bytes: "812 B", "14.2 KB". A KB has 1,000 bytes.
func Size(bytes float64) string {
	if bytes < 999.5 {
		return trim(fmt.Sprintf("%.0f", bytes)) + " B"
	}
	return strings.Replace(Amount(bytes), "k", "K", 1) + "B"
}

// Grouped writes a whole number with its thousands apart: "200,000".
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Width is about how wide text is in a common sans-serif font. It errs on the
// wide side, since the reader's font is not known.
func Width(text string, size float64) float64 {
	var w float64
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijltfrI.,:;'|!()[] ", r):
			w += 0.40
		case strings.ContainsRune("mwMW@%…→", r):
			w += 0.98
		case r >= 'A' && r <= 'Z':
			w += 0.72
		default:
			w += 0.62
		}
	}
	return w * size
}

// Fit cuts text so that it is not wider than width, with "…" at its end; "" if
// nothing useful fits.
func Fit(text string, width, size float64) string {
	if Width(text, size) <= width {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n >= 2; n-- {
		short := strings.TrimRight(string(runes[:n]), " ,|") + "…"
		if Width(short, size) <= width {
			return short
		}
	}
	return ""
}

// trim takes the zeros off the end of a decimal fraction.
func trim(s string) string {
	if !strings.ContainsRune(s, '.') || strings.ContainsRune(s, 'e') {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
)

// Duration is a time.Duration that files write as "1.5s".
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns d without the zero units of time.Duration: "1m", not "1m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write it like 10s, 1.5s, 400ms or 2m", text)
	}
	*d = Duration(v)
	return nil
}

// Share is a part of a whole in millionths, which files write as "1.5%".
type Share uint32

// Whole is the share of everything.
const Whole Share = 1_000_000

// String returns the share as a percentage: "1.5%".
func (s Share) String() string { return strconv.FormatFloat(float64(s)/10_000, 'f', -1, 64) + "%" }

// MarshalText implements encoding.TextMarshaler.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	if !ok {
		return fmt.Errorf("%q is not a share; write it like 5%% or 0.1%%", text)
	}
	v, err := fixed(number, 4)
	if err != nil || v > uint64(Whole) {
		return fmt.Errorf("%q is not a share; write 0%% to 100%%, with up to 4 decimals", text)
	}
	*s = Share(v)
	return nil
}

// Bytes is a count of bytes, which files write as "64KiB" or as a number.
type Bytes int

// maxBytes is the largest size that a file may give: a pebibyte.
const maxBytes = 1 << 50

// String returns b in the largest binary unit that divides it: "64KiB".
func (b Bytes) String() string {
	for _, u := range check.SizeUnits()[:3] {
		if b != 0 && int64(b)%u.Bytes == 0 {
			return strconv.FormatInt(int64(b)/u.Bytes, 10) + u.Name
		}
	}
	return strconv.Itoa(int(b)) + "B"
}

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, size := string(text), int64(1)
	for _, u := range check.SizeUnits() {
		if n, ok := strings.CutSuffix(number, u.Name); ok {
			number, size = strings.TrimSpace(n), u.Bytes
			break
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v < 0 || v > maxBytes/size {
		return fmt.Errorf("%q is not a size; write it like 100, 64KiB or 1MiB", text)
	}
	*b = Bytes(v * size)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: a size may be a bare number.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	return b.UnmarshalText([]byte(strings.Trim(string(data), `"`)))
}

// fixed reads a decimal number as an integer count of 10^-digits, without
// floating point.
func fixed(text string, digits int) (uint64, error) {
	whole, fraction, dot := strings.Cut(text, ".")
	if len(fraction) > digits || whole == "" || dot && fraction == "" || len(whole) > 9 {
		return 0, errors.New("not a decimal number")
	}
	return strconv.ParseUint(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
}

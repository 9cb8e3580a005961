// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zones

import "time"

// layout is RFC 3339 with the seconds that old offsets have.
const layout = "2006-01-02T15:04:05Z07:00:00"

// The years that questions are about.
const (
	FirstYear = 1970
	LastYear  = 2037
)

// Question is what a caller asks. Either Convert and To, or Transitions and
// Year are set.
type Question struct {
	Convert     string `json:"convert,omitempty"` // an instant in any zone's notation
	To          string `json:"to,omitempty"`
	Transitions string `json:"transitions,omitempty"` // a zone
	Year        int    `json:"year,omitempty"`
}

// Answer is what a member replies.
type Answer struct {
	Instant     string       `json:"instant,omitempty"` // in the notation of the zone asked for
	Zone        string       `json:"zone,omitempty"`    // its abbreviation then
	DST         bool         `json:"dst,omitempty"`
	Transitions []Transition `json:"transitions,omitempty"`
}

// Transition is one change of a zone's rules.
type Transition struct {
	At     string `json:"at"`     // UTC
	Offset int    `json:"offset"` // seconds east of UTC from then on
	Zone   string `json:"zone"`   // abbreviation from then on
	DST    bool   `json:"dst"`
}

// Nth returns question n of an endless, fixed list that begins with every
// zone once. The oracle writes the instants in the notation of another zone.
func Nth(n int, names []string, o *Oracle) Question {
	here := names[n%len(names)]
	r := mix(uint64(n))
	if (n+n/len(names))%8 == 7 {
		return Question{Transitions: here, Year: FirstYear + int(r%(LastYear-FirstYear+1))}
	}
	first := time.Date(FirstYear, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(LastYear, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	at := first + int64(r%uint64(last-first))
	there := names[mix(r)%uint64(len(names))]
	return Question{Convert: o.write(at, there), To: here}
}

// mix spreads n over 64 bits (the finalizer of SplitMix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

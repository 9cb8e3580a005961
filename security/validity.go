// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// validVersions is how many key versions are accepted at a time: enough to
// replace one without a pause, and few enough that adding the next but one
// excludes whoever has only the first.
const validVersions = 2

// validFrom says whether now is not before k's time, by a clock that may be behind
// by early.
func (k KeyVersion) validFrom(now time.Time, early time.Duration) bool {
	return k.NotBefore.IsZero() || !now.Add(early).Before(k.NotBefore)
}

// validUntil says whether now is before k's end, by a clock that may be ahead by late.
func (k KeyVersion) validUntil(now time.Time, late time.Duration) bool {
	return k.NotAfter.IsZero() || now.Add(-late).Before(k.NotAfter)
}

func (k KeyVersion) checkTimes() error {
	for _, t := range []time.Time{k.NotBefore, k.NotAfter} {
		if !t.IsZero() && (t.Nanosecond() != 0 || t.Year() < 1970 || t.Year() > 9999) {
			return fmt.Errorf("%w: the times of key version %d must be whole seconds, from 1970 on", ErrBadFile, k.Version)
		}
	}
	if !k.NotBefore.IsZero() && !k.NotAfter.IsZero() && !k.NotBefore.Before(k.NotAfter) {
		return fmt.Errorf("%w: key version %d ends before it begins", ErrBadFile, k.Version)
	}
	return nil
}

// Validity says which keys of a list count at one moment, by their index.
type Validity struct {
	// Accepted are the keys whose use by others counts: of those that are valid, or
	// would be by a clock that differs by ClockTolerance, the two newest. Newest first.
	Accepted []int
	// Seals is the one of them that this side seals with: the newest that is valid
	// by its own clock.
	Seals int
	// Common is what seals where it is not known which keys the receivers have: while
	// a key that has an end is still valid, whoever has a newer one has that, too, and
	// some have no other; the oldest such, else Seals.
	Common int
	// Lapsed says that no key is valid, not even with tolerance. The newest is
	// used all the same: if the clock is wrong, a peer will accept it and tell.
	Lapsed bool
}

// ValidityOf decides which keys count at now. keys must pass CheckKeys.
func ValidityOf(keys []KeyVersion, now time.Time) Validity {
	v := Validity{Seals: -1, Common: -1}
	for _, i := range newestFirst(keys) {
		k := keys[i]
		if len(v.Accepted) == validVersions ||
			!k.validFrom(now, ClockTolerance) || !k.validUntil(now, ClockTolerance) {
			continue
		}
		v.Accepted = append(v.Accepted, i)
		if v.Seals < 0 && k.validFrom(now, 0) && k.validUntil(now, 0) {
			v.Seals = i
		}
		if !k.NotAfter.IsZero() && k.validFrom(now, 0) && k.validUntil(now, 0) {
			v.Common = i
		}
	}
	switch {
	case len(keys) == 0:
	case len(v.Accepted) == 0:
		v.Lapsed = true
		v.Seals = newestFirst(keys)[0]
		v.Accepted = []int{v.Seals}
	case v.Seals < 0:
		// Between two keys: the one that began is better known than the one to come.
		v.Seals = v.Accepted[len(v.Accepted)-1]
	}
	if v.Common < 0 {
		v.Common = v.Seals
	}
	return v
}

// NextValidity returns the first moment after now at which ValidityOf may give
// another answer; zero = it never will.
func NextValidity(keys []KeyVersion, now time.Time) (next time.Time) {
	for _, k := range keys {
		for _, t := range k.edges() {
			if t.After(now) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

// edges are the moments at which k's part in ValidityOf changes.
func (k KeyVersion) edges() (edges []time.Time) {
	if !k.NotBefore.IsZero() {
		edges = append(edges, k.NotBefore.Add(-ClockTolerance), k.NotBefore)
	}
	if !k.NotAfter.IsZero() {
		edges = append(edges, k.NotAfter, k.NotAfter.Add(ClockTolerance))
	}
	return edges
}

// newestFirst returns the indexes of keys, the highest version first.
func newestFirst(keys []KeyVersion) []int {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b].Version, keys[a].Version) })
	return order
}

// timeless is the Validity of keys whatever the time: the two newest count.
func timeless(keys []KeyVersion) Validity {
	order := newestFirst(keys)
	v := Validity{Seals: -1, Common: -1, Accepted: order[:min(len(order), validVersions)]}
	if len(order) > 0 {
		v.Seals, v.Common = order[0], order[0]
	}
	return v
}

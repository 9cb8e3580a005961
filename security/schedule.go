// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Epochs are counted in whole seconds of Unix time. Each cluster's begin at
// another time of the day, so that not all of a network moves at once.
const (
	epochSeconds   = int64(6 * time.Hour / time.Second)
	overlapSeconds = int64(ClockTolerance / time.Second)
)

// ClockTolerance is how far the wall clocks of two nodes may be apart for them to
// look for a cluster in the same place.
const ClockTolerance = 15 * time.Minute

// schedule says which epochs of a cluster are valid when. It is a pure value.
type schedule struct {
	offset int64 // seconds, in [0, epochSeconds)
}

func newSchedule(name string) schedule {
	h := sha256.Sum256(message(labelEpochOffset, []byte(name)))
	return schedule{int64(binary.BigEndian.Uint64(h[:]) % uint64(epochSeconds))}
}

// index is the number of the epoch that t lies in; its bounds are
// [start(index), start(index+1)).
func (s schedule) index(t int64) int64 {
	t -= s.offset
	i := t / epochSeconds
	if t%epochSeconds < 0 {
		i--
	}
	return i
}

func (s schedule) start(index int64) int64 { return index*epochSeconds + s.offset }

// valid lists the epochs that are valid at t, the current one first. Another
// one is valid beside it in the last 15 minutes before the next begins and in
// the first 15 of a new one, so that clocks may differ by as much.
func (s schedule) valid(t int64) []int64 {
	current := s.index(t)
	if next := s.index(t + overlapSeconds); next != current {
		return []int64{current, next}
	}
	if last := s.index(t - overlapSeconds); last != current {
		return []int64{current, last}
	}
	return []int64{current}
}

// nextChange is the first second after t at which valid gives another list.
func (s schedule) nextChange(t int64) int64 {
	current := s.index(t)
	start, end := s.start(current), s.start(current+1)
	switch {
	case t < start+overlapSeconds:
		return start + overlapSeconds
	case t < end-overlapSeconds:
		return end - overlapSeconds
	}
	return end
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEpochsBeginAndOverlapOnTheSecond proves each boundary of the schedule, to
// the second. The offset is 1,000 s; an epoch has 21,600, the overlap 900.
func TestEpochsBeginAndOverlapOnTheSecond(t *testing.T) {
	s := schedule{offset: 1000}
	for _, c := range []struct {
		what string
		t    int64
		want []int64
		next int64
	}{
		{"begin", 1000, []int64{0, -1}, 1900},
		{"last second of the overlap behind", 1899, []int64{0, -1}, 1900},
		{"alone", 1900, []int64{0}, 21700},
		{"last second alone", 21699, []int64{0}, 21700},
		{"the next one is valid too", 21700, []int64{0, 1}, 22600},
		{"last second", 22599, []int64{0, 1}, 22600},
		{"the next one begins", 22600, []int64{1, 0}, 23500},
		{"before 1970", -1, []int64{-1}, 100},
		{"overlap before the first", 100, []int64{-1, 0}, 1000},
		{"last second before the first", 999, []int64{-1, 0}, 1000},
		{"long before 1970", 1000 - 3*21600, []int64{-3, -4}, 1900 - 3*21600},
	} {
		require.Equal(t, c.want, s.valid(c.t), c.what)
		require.Equal(t, c.next, s.nextChange(c.t), c.what)
	}
}

// TestScheduleAgreesWithASecondImplementation proves valid and nextChange
// against definitions that are plain and slow: an epoch is valid from 15
// minutes before its begin to 15 after its end, and the list changes where two
// neighbouring seconds differ.
func TestScheduleAgreesWithASecondImplementation(t *testing.T) {
	for _, s := range []schedule{{0}, {1}, {899}, {900}, {901}, {21599}, newSchedule("geo"), newSchedule("")} {
		require.GreaterOrEqual(t, s.offset, int64(0))
		require.Less(t, s.offset, epochSeconds)
		for _, from := range []int64{-50_000, 0, 1_785_600_000} {
			slow := func(t int64) (current int64, all []int64) {
				for i := t/epochSeconds - 3; i <= t/epochSeconds+3; i++ {
					begin, end := s.offset+i*epochSeconds, s.offset+(i+1)*epochSeconds
					if begin <= t && t < end {
						current = i
					}
					if begin-overlapSeconds <= t && t < end+overlapSeconds {
						all = append(all, i)
					}
				}
				return current, all
			}
			change := s.nextChange(from)
			last := s.valid(from)
			for at := from; at < from+epochSeconds+10; at++ {
				current, all := slow(at)
				got := s.valid(at)
				if got[0] != current || !slices.Equal(all, sorted(got)) {
					t.Fatalf("offset %d, second %d: %v instead of %v, %v", s.offset, at, got, current, all)
				}
				if changed := !slices.Equal(got, last); changed != (at == change) {
					t.Fatalf("offset %d, second %d: change foretold for %d", s.offset, at, change)
				}
				if at == change {
					last, change = got, s.nextChange(at)
				}
			}
		}
	}
}

func sorted(in []int64) []int64 {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}

// TestClustersChangeEpochAtDifferentTimes proves that names spread over the six
// hours, so that not everything moves at once.
func TestClustersChangeEpochAtDifferentTimes(t *testing.T) {
	var quarters [24]int
	for i := range 2400 {
		quarters[newSchedule(strconv.Itoa(i)).offset*24/epochSeconds]++
	}
	for _, n := range quarters {
		require.InDelta(t, 100, n, 50)
	}
}

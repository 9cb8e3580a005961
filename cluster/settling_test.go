// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettlingTakesAsLongAsMembersNeedToComeOver(t *testing.T) {
	// What changed has settled after 1.5 s, or four of the longest round trips; while one
	// is not known it may be long, which is looked at again, and no later than ever if it
	// turns out to be short.
	const ms = time.Millisecond
	start := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		trip  time.Duration
		known time.Duration // since when
		looks []time.Duration
	}{
		"nobody is far away":         {looks: []time.Duration{0, 1500 * ms}},
		"300 ms":                     {trip: 300 * ms, looks: []time.Duration{0, 1500 * ms}},
		"800 ms":                     {trip: 800 * ms, looks: []time.Duration{0, 1500 * ms, 2500 * ms, 3200 * ms}},
		"800 ms, measured late":      {trip: 800 * ms, known: 800 * ms, looks: []time.Duration{0, 1500 * ms, 2500 * ms, 3200 * ms}},
		"1 ms, measured late":        {trip: ms, known: ms, looks: []time.Duration{0, 1500 * ms}},
		"never measured":             {known: time.Hour, looks: []time.Duration{0, 1500 * ms, 2500 * ms, 3500 * ms, 4500 * ms, 5500 * ms, 6000 * ms}},
		"dialled in vain for 2 secs": {known: 2000 * ms, looks: []time.Duration{0, 1500 * ms, 2500 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			s := settlingSince(start.Add(c.known), &now, c.trip)
			for i, at := range c.looks {
				require.Equal(t, at, now.Sub(start))
				over, next := s.over(now, start)
				require.Equal(t, i == len(c.looks)-1, over, at)
				now = next
			}
		})
	}
}

// settlingSince is one whose longest trip is measured at known.
func settlingSince(known time.Time, now *time.Time, trip time.Duration) *settling {
	return &settling{trip: func() (time.Duration, bool) {
		if now.Before(known) {
			return 0, false
		}
		return trip, true
	}}
}

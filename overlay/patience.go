// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "time"

// Patience is how long something is waited for that takes some round trips: for Time,
// which is enough where they are short, or for so many of the longest one.
type Patience struct {
	Time  time.Duration
	Trips int
}

// Trips knows how long round trips are; the layers above embed it.
type Trips struct{ o *Overlay }

// TripsOf is what o knows.
func TripsOf(o *Overlay) Trips { return Trips{o} }

// LongestTrip is described at the function of that name.
func (t Trips) LongestTrip() (longest time.Duration, all bool) { return LongestTrip(t.o) }

// Over is how long that is where a round trip takes so long.
func (p Patience) Over(trip time.Duration) time.Duration {
	return max(p.Time, time.Duration(p.Trips)*trip)
}

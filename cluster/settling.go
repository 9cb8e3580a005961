// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Times of settling.
const (
	settleTime  = 1500 * time.Millisecond // alone, or with the same neighbours, for so long …
	settleTrips = 4                       // … or for so many round trips: members dial a new anchor, and register
	unknownTrip = 1500 * time.Millisecond // one that was not measured yet may be as long
	tripTime    = time.Second             // until it is looked again how long they are
)

// settling knows for how long nothing nearby must have changed before a node can know
// who is there. Pure core, but for trip.
type settling struct {
	trip  func() (longest time.Duration, all bool) // Network.LongestTrip
	lasts time.Duration
	until time.Time // lasts is believed
}

// time is how long it takes now.
func (s *settling) time(now time.Time) time.Duration {
	if now.Before(s.until) {
		return s.lasts
	}
	trip, all := s.trip()
	if all {
		s.until = now.Add(tripTime)
	} else {
		trip = max(trip, unknownTrip)
	}
	s.lasts = max(settleTime, settleTrips*trip)
	return s.lasts
}

// over says whether all has settled that last changed at since, else when to look again:
// by then it may be known that trips are short.
func (s *settling) over(now, since time.Time) (over bool, next time.Time) {
	at := since.Add(s.time(now))
	if !now.Before(at) {
		return true, next
	}
	next = since.Add(settleTime)
	if !now.Before(next) {
		next = now.Add(tripTime)
	}
	if at.Before(next) {
		return false, at
	}
	return false, next
}

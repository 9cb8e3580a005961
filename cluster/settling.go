// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// Times of settling.
const (
	settleTime  = 1500 * time.Millisecond // alone, or with the same neighbours, for so long …
	settleTrips = 4                       // … or for so many round trips: members dial a new anchor, and register
	unknownTrip = 1500 * time.Millisecond // one that was not measured yet may be as long
	tripTime    = time.Second             // until it is looked again how long they are
)

var settle = overlay.Patience{Time: settleTime, Trips: settleTrips}

// settling knows for how long nothing nearby must have changed before a node can know
// who is there. Pure core, but for trip.
type settling struct {
	trip     func() (longest time.Duration, all bool) // Network.LongestTrip
	measured time.Duration                            // the longest one when it was asked last
	all      bool                                     // each was measured then
	asked    time.Time
}

// ask has trip asked, once an instant, and rarely while all was measured.
func (s *settling) ask(now time.Time) {
	if now.Equal(s.asked) || s.all && now.Before(s.asked.Add(tripTime)) {
		return
	}
	s.asked = now
	s.measured, s.all = s.trip()
}

// atLeast is how long is waited for an answer: who has not been measured is not waited
// for longer than usual.
func (s *settling) atLeast(now time.Time, p overlay.Patience) time.Duration {
	s.ask(now)
	return p.Over(s.measured)
}

// atMost is how long is waited for what can't be known sooner: who has not been measured
// may be far away.
func (s *settling) atMost(now time.Time, p overlay.Patience) time.Duration {
	s.ask(now)
	if s.all {
		return p.Over(s.measured)
	}
	return p.Over(max(s.measured, unknownTrip))
}

// time is how long settling takes now.
func (s *settling) time(now time.Time) time.Duration {
	return s.atMost(now, settle)
}

// over says whether all has settled that last changed at since, else when to look again.
func (s *settling) over(now, since time.Time) (over bool, next time.Time) {
	return s.past(now, since, settle)
}

// past says whether what has been waited for since then is waited for no longer, else when
// to look again: by then it may be known that trips are short.
func (s *settling) past(now, since time.Time, p overlay.Patience) (over bool, next time.Time) {
	at := since.Add(s.atMost(now, p))
	if !now.Before(at) {
		return true, next
	}
	next = since.Add(p.Time)
	if !now.Before(next) {
		next = now.Add(tripTime)
	}
	if at.Before(next) {
		return false, at
	}
	return false, next
}

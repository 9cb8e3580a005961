// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import "time"

// restTime is how long topics still cross when nobody listens any more: whoever listens
// anew has them at once.
const restTime = 10 * time.Second

// listening decides when a gateway listens to topics that it lends: while somebody in the
// other network does. It has no clock.
type listening struct {
	on    bool
	since time.Time // when nobody listened first; zero = somebody does
}

// step takes in whether anybody listens.
func (s *listening) step(now time.Time, listened bool) order {
	switch {
	case listened && !s.on:
		s.on, s.since = true, time.Time{}
		return orderLend
	case listened || !s.on:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = now
	case now.Sub(s.since) >= restTime:
		*s = listening{}
		return orderReturn
	}
	return orderNothing
}

// failed takes in that what was ordered could not be done.
func (s *listening) failed() { *s = listening{} }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package notice

import "time"

// Seldom decides when the log tells a failure that repeats itself: at once, and then
// once every [Again]. Pure core; the zero value is ready.
type Seldom struct {
	told  time.Time
	times int
}

// Step counts a failure. A result above 0 is how many there were since the last line,
// which it is time for.
func (s *Seldom) Step(now time.Time) (times int) {
	s.times++
	if !s.told.IsZero() && now.Sub(s.told) < Again {
		return 0
	}
	times, s.times, s.told = s.times, 0, now
	return times
}

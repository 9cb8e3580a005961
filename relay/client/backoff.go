// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import "time"

const (
	// Between two attempts to reach the relay: an eighth of the time that it
	// has been away, within these bounds. So it is found again soon after it is
	// back, and seldom asked for while it is away for long.
	firstPause = 10 * time.Millisecond
	longPause  = time.Second
	awayShare  = 8
	// stable is how long a session has to live to show that all is well again.
	stable = time.Second
)

// backoff decides how long to wait before the next attempt to reach the relay.
// The zero value is ready.
type backoff struct {
	away bool
	lost time.Time // when the last stable session ended
}

// next returns the pause before the next attempt, after a session that lived so
// long, or after a failed attempt (0): none after a stable session. A relay that
// accepts and then ends the session soon is no reason to hurry. roll is random,
// see shortened.
func (b *backoff) next(now time.Time, lived time.Duration, roll float64) time.Duration {
	if lived >= stable || !b.away {
		b.away, b.lost = true, now
		return 0
	}
	return shortened(min(max(now.Sub(b.lost)/awayShare, firstPause), longPause), roll)
}

// shortened takes up to half off a pause, so that the many clients of one relay
// do not come back in step. roll is random, in [0, 1).
func shortened(d time.Duration, roll float64) time.Duration {
	return d - time.Duration(roll*float64(d/2))
}

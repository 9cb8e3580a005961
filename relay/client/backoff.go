// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import "time"

const (
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
	// stable is how long a session has to live to show that all is well again.
	stable = time.Second
)

// backoff decides how long to wait before the next attempt to reach the relay.
// The zero value is ready.
type backoff struct{ failures int }

// next returns the pause after a session that lived so long, or after a failed
// attempt (0): none at first, then 50 ms, doubling to 1 s. A relay that accepts
// and then ends the session soon is no reason to hurry.
func (b *backoff) next(lived time.Duration) time.Duration {
	if lived >= stable {
		b.failures = 0
	}
	b.failures++
	if b.failures == 1 {
		return 0
	}
	return min(firstPause<<min(b.failures-2, 10), longPause)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"time"
)

// precise is the last stretch of a wait, which is left to the operating
// system: the runtime's own timers are up to a millisecond late when the
// process is idle, which would be charged to the cluster.
const precise = 2 * time.Millisecond

// until waits for t and reports false if ctx ended before.
func (s *sleeper) until(ctx context.Context, t time.Time) bool {
	if d := time.Until(t); d > precise {
		s.timer.Reset(d - precise)
		select {
		case <-s.timer.C:
		case <-ctx.Done():
			return false
		}
	}
	for {
		d := time.Until(t)
		if d <= 0 {
			return ctx.Err() == nil
		}
		s.nap(d)
	}
}

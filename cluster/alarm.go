// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// alarm remembers when a core has to be woken next. Cores lower it as they
// plan, and recompute it from all their plans once it has rung.
type alarm struct{ at time.Time }

// plan makes the alarm ring at t or before.
func (a *alarm) plan(t time.Time) {
	if a.at.IsZero() || t.Before(a.at) {
		a.at = t
	}
}

// rings says whether it is time, and if so forgets the plan.
func (a *alarm) rings(now time.Time) bool {
	if a.at.IsZero() || now.Before(a.at) {
		return false
	}
	a.at = time.Time{}
	return true
}

// due says whether a planned time (zero = none) has come.
func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// backoff doubles from first up to limit, and adds up to a quarter, so that
// nodes that failed together do not come back together.
func backoff(d *dice, failures int, first, limit time.Duration) time.Duration {
	wait := limit
	if failures < 20 {
		wait = min(first<<failures, limit)
	}
	return wait + spread(d, wait/4)
}

// spread returns a random part of d.
func spread(d *dice, width time.Duration) time.Duration {
	return time.Duration(d.roll(int(max(width, 1))))
}

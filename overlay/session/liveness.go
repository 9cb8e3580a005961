// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"time"
)

// missesAllowed is how many intervals may pass without a byte before a peer is
// suspect.
const missesAllowed = 3

// liveness decides when a peer is asked for a sign of life, when it is
// suspect, and when its connection is given up. Pure core: the shell (pulse.go)
// steps it at the times it asked for, while somebody is interested.
type liveness struct {
	interval time.Duration
	limit    time.Duration // of silence, after which a suspect connection is given up
	rand     Jitter
	rtt      time.Duration // smoothed; 0 = none was measured yet

	base     time.Time // silence is counted from here
	nextPing time.Time
	due      time.Time // when the next step was asked for; zero = not
	suspect  bool
}

// vitals is what the shell observed.
type vitals struct {
	heard time.Time // the last byte from the peer
	since time.Time // when the interest in the peer began; zero = nobody is interested
}

// livenessActions is what the shell shall do.
type livenessActions struct {
	ping    bool      // send a Beat that wants a reply
	stalled bool      // this process has stood still
	suspect bool      // the peer has become suspect
	close   bool      // give the link up
	wake    time.Time // step again at this time; zero = when the interest begins again
}

// begin resets the core for a new connection.
func (c *liveness) begin(now time.Time) {
	c.base, c.nextPing, c.due, c.suspect = now, time.Time{}, time.Time{}, false
}

// step is called when interest begins, and at the time it asked for last.
func (c *liveness) step(now time.Time, v vitals) livenessActions {
	if v.since.IsZero() {
		c.due = time.Time{} // a timer that is not running can't be late
		return livenessActions{}
	}
	base := slices.MaxFunc([]time.Time{c.base, v.heard, v.since}, time.Time.Compare)
	stalled := c.stalled(now)
	if stalled {
		// This process did not run when it should have: whatever the peer
		// sent meanwhile may be waiting unread. Begin anew, and ask at once.
		base = now
	}
	if base.After(c.base) || c.nextPing.IsZero() {
		c.base = base
		c.nextPing = base.Add(c.jittered())
		if stalled || c.suspect {
			c.nextPing = now
		}
	}
	a := c.decide(now)
	a.stalled = stalled
	return a
}

// stalled says that this process did not run when it should have.
func (c *liveness) stalled(now time.Time) bool {
	return !c.due.IsZero() && now.Sub(c.due) > c.interval/2
}

func (c *liveness) decide(now time.Time) livenessActions {
	var a livenessActions
	silence := now.Sub(c.base)
	if c.suspect && silence >= c.limit {
		c.due = time.Time{}
		return livenessActions{close: true}
	}
	if !c.suspect && silence >= c.patience() {
		c.suspect, a.suspect = true, true
	}
	if !now.Before(c.nextPing) {
		a.ping = true
		c.nextPing = now.Add(c.jittered())
	}
	verdict := c.base.Add(c.patience())
	if c.suspect {
		verdict = c.base.Add(c.limit)
	}
	a.wake = c.nextPing
	if verdict.Before(a.wake) {
		a.wake = verdict
	}
	c.due = a.wake
	return a
}

// heard is called for the first byte from a suspect peer; it says whether the
// peer has recovered by that.
func (c *liveness) heard(now time.Time) bool {
	recovered := c.suspect
	c.suspect = false
	c.base, c.nextPing = now, now.Add(c.jittered())
	return recovered
}

// unknownRTT is what is assumed of a peer before its first answer.
const unknownRTT = time.Second

// patience is how long a peer may be silent before it is suspect: three intervals,
// or one and the time that the answer to a question takes at the longest.
func (c *liveness) patience() time.Duration {
	rtt := c.rtt
	if rtt == 0 {
		rtt = unknownRTT
	}
	return max(missesAllowed*c.interval, c.interval+3*rtt)
}

// jittered is the interval ± a tenth, so that links do not beat in step.
func (c *liveness) jittered() time.Duration {
	tenth := int(c.interval / 10 / time.Microsecond)
	return c.interval + time.Duration(c.rand.IntN(2*tenth+1)-tenth)*time.Microsecond
}

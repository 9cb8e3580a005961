// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// Times of a session that no connection carries.
const (
	// OutageLimit is how long after the last byte from the peer it ends.
	OutageLimit = 15 * time.Second

	refusalGap = 20 * time.Millisecond // at least between two refusals that count
	firstRetry = 20 * time.Millisecond // doubled each time …
	lastRetry  = time.Second           // … up to this
)

// Outage decides what becomes of a session that no connection carries: when to
// dial again, and when it is over. The zero value is ready; Begin starts it. Pure:
// no lock, goroutine or clock.
type Outage struct {
	until   time.Time
	retry   time.Duration
	refused time.Time // the last refusal that counts; zero = none
	gone    bool
}

// Begin notes that the connection is lost of a peer that was heard last at heard.
func (o *Outage) Begin(heard time.Time) {
	*o = Outage{until: heard.Add(OutageLimit), retry: firstRetry}
}

// Failed notes that a dial failed. refused says that the process is not there:
// every known address refused, or closed the connection before Hello. It returns
// in how long to dial again, give or take a quarter that the caller draws.
func (o *Outage) Failed(now time.Time, refused bool) (wait time.Duration) {
	switch {
	case !refused:
		o.refused = time.Time{}
	case o.refused.IsZero():
		o.refused = now
	case now.Sub(o.refused) >= refusalGap:
		o.gone = true
	}
	wait = o.retry
	o.retry = min(2*o.retry, lastRetry)
	return wait
}

// Gone says that the process is gone: it was refused twice in a row.
func (o *Outage) Gone() bool { return o.gone }

// Over says that the session ends, and Left in how long it does if nothing
// happens.
func (o *Outage) Over(now time.Time) bool { return o.gone || !now.Before(o.until) }

// Left is how long the session lives if nothing happens.
func (o *Outage) Left(now time.Time) time.Duration { return o.until.Sub(now) }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued

import (
	"errors"
	"time"

	"github.com/arke-mesh/arke/security"
)

// Times at which a node asks for more time for its certificate.
const (
	renewAt     = 3  // when this part of its time is left …
	renewSpread = 10 // … or up to this part earlier, so that nodes of one day come one by one
	renewTries  = 8  // after a failure: when this part of what is left is over

	minPause  = 2 * time.Second // between tries
	latePause = 30 * time.Second
	maxPause  = time.Hour
)

// Renewal is the core that decides when a node asks for more time for its certificate.
// It belongs to one goroutine at a time.
type Renewal struct {
	random func(n int64) int64 // in [0, n)
	end    time.Time           // of the certificate; zero = there is none that issuers may renew
	due    time.Time
	status RenewalStatus
}

// RenewalStatus is what people want to know of that; see Status.
type RenewalStatus struct {
	Renewals     uint64
	Renewed      time.Time
	NextRenewal  time.Time
	RenewalFault string
}

// NewRenewal returns one without a certificate. random returns a number in [0, n).
func NewRenewal(random func(n int64) int64) *Renewal { return &Renewal{random: random} }

// Hold takes in which certificate the node has now; ok = false: none.
func (r *Renewal) Hold(now time.Time, c security.Certificate, ok bool) {
	r.status.RenewalFault = ""
	if !ok || !c.Renewable() {
		r.end, r.due = time.Time{}, time.Time{}
		return
	}
	life := c.NotAfter.Sub(c.NotBefore)
	r.end = c.NotAfter
	r.due = r.end.Add(-life/renewAt - r.upTo(life/renewSpread))
	if r.due.Before(now) { // as after a restart
		r.due = now.Add(r.upTo(min(r.pause(now), maxPause/12)))
	}
}

// Renewed notes that an issuer gave c.
func (r *Renewal) Renewed(now time.Time, c security.Certificate) {
	r.status.Renewals++
	r.status.Renewed = now
	r.Hold(now, c, true)
}

// Failed notes that it gave none, and why. An error that is security.ErrNotYet is no fault.
func (r *Renewal) Failed(now time.Time, err error) {
	if errors.Is(err, security.ErrNotYet) {
		r.status.RenewalFault = ""
		r.due = now.Add(max(r.end.Sub(now)/2, minPause))
		return
	}
	r.status.RenewalFault = err.Error()
	pause := r.pause(now)
	r.due = now.Add(pause/2 + r.upTo(pause))
}

// pause is how long to wait for the next try: less as the end comes closer.
func (r *Renewal) pause(now time.Time) time.Duration {
	switch left := r.end.Sub(now); {
	case left > 0:
		return min(max(left/renewTries, minPause), maxPause)
	case left > -security.ClockTolerance: // issuers still renew it
		return latePause
	}
	return maxPause
}

// upTo is a random time below d.
func (r *Renewal) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(r.random(int64(d)))
}

// Due is when to ask; zero = never.
func (r *Renewal) Due() time.Time { return r.due }

// Status describes it.
func (r *Renewal) Status() RenewalStatus {
	s := r.status
	s.NextRenewal = r.due
	return s
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// Times of a session that no connection carries.
const (
	// ReconnectLimit is how long after the last byte from the peer it ends.
	ReconnectLimit = 15 * time.Second

	refusalGap = 20 * time.Millisecond // at least between two refusals that count
	firstRetry = 20 * time.Millisecond // doubled each time …
	lastRetry  = time.Second           // … up to this
)

// Failure is how a dial failed.
type Failure uint8

// The failures.
const (
	Unreached Failure = iota // it says nothing about the process
	Refused                  // nobody listens: every known address refused
	HungUp                   // the connection was taken, and closed before Hello
)

// Reconnect decides what becomes of a session that no connection carries: when to
// dial again, and when it is over. The zero value is ready; Begin starts it. Pure:
// no lock, goroutine or clock.
type Reconnect struct {
	until   time.Time
	retry   time.Duration
	doubted bool      // the last dial said that the process is gone
	refused time.Time // the last refusal that counts; zero = none
	gone    bool
}

// Begin notes that the connection is lost of a peer that was heard last at heard.
func (o *Reconnect) Begin(heard time.Time) {
	*o = Reconnect{until: heard.Add(ReconnectLimit), retry: firstRetry}
}

// Failed notes that a dial failed, and returns in how long to dial again, give or
// take a quarter that the caller draws. The process is gone if two dials in a row say
// so, and the second one because nobody listens: who takes connections and hangs up
// may have died just now, but if that happens again it lives, or the connections
// break on the way.
func (o *Reconnect) Failed(now time.Time, how Failure) (wait time.Duration) {
	o.doubted = how == Refused || how == HungUp && !o.doubted
	switch {
	case !o.doubted:
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

// Gone says that the process is gone.
func (o *Reconnect) Gone() bool { return o.gone }

// Over says that the session ends, and Left in how long it does if nothing
// happens.
func (o *Reconnect) Over(now time.Time) bool { return o.gone || !now.Before(o.until) }

// Left is how long the session lives if nothing happens.
func (o *Reconnect) Left(now time.Time) time.Duration { return o.until.Sub(now) }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"time"
)

const (
	// maxAsked bounds the registrations and subscriptions that the relay was
	// asked for and has not answered.
	maxAsked = 64
	// firstRest and longRest are how long a relay is left alone that has said
	// no, at first and at last.
	firstRest = 50 * time.Millisecond
	longRest  = time.Second
)

// renewals decides when the relay is asked for which registrations and
// subscriptions: for all of them in a new session, in the order of their ids,
// and after a while for those that it refused. It is a pure core. The zero
// value is empty.
type renewals struct {
	entries map[uint64]*renewal
	unknown []uint64 // to be asked for, in order; some may be gone
	refused []uint64 // to be asked for when they are due
	asked   int
}

type renewal struct {
	state    renewalState
	failures int
	due      time.Time // of refused
}

type renewalState uint8

const (
	stateUnknown renewalState = iota // the relay does not know it
	stateAsked                       // it was asked and has not answered
	stateRefused                     // it said no
	stateKnown                       // it said yes
)

// add takes in something new. Ids grow.
func (r *renewals) add(id uint64) {
	if r.entries == nil {
		r.entries = make(map[uint64]*renewal)
	}
	r.entries[id] = &renewal{}
	r.unknown = append(r.unknown, id)
}

// remove forgets something, and says how it stood with the relay.
func (r *renewals) remove(id uint64) renewalState {
	e := r.entries[id]
	if e == nil {
		return stateUnknown
	}
	delete(r.entries, id)
	if e.state == stateAsked {
		r.asked--
	}
	return e.state
}

// detached is called when a session has ended: the relay knows nothing of it any
// more. It returns what it had known.
func (r *renewals) detached() (known []uint64) {
	r.unknown, r.refused, r.asked = r.unknown[:0], nil, 0
	for id, e := range r.entries {
		if e.state == stateKnown {
			known = append(known, id)
		}
		*e = renewal{}
		r.unknown = append(r.unknown, id)
	}
	slices.Sort(r.unknown)
	slices.Sort(known)
	return known
}

// answered takes in what the relay said when it was asked. It is asked again
// after a pause that doubles up to longRest, and whenever the session is another
// one. roll is random, in [0, 1).
func (r *renewals) answered(id uint64, yes bool, now time.Time, roll float64) {
	e := r.entries[id]
	if e == nil || e.state != stateAsked {
		return
	}
	r.asked--
	if yes {
		*e = renewal{state: stateKnown}
		return
	}
	e.state, e.due = stateRefused, now.Add(shortened(min(firstRest<<min(e.failures, 10), longRest), roll))
	e.failures++
	r.refused = append(r.refused, id)
}

// ask returns what the relay is to be asked for now, and when to look again
// (zero = when something happens).
func (r *renewals) ask(now time.Time) (ids []uint64, again time.Time) {
	again = r.retry(now)
	for len(r.unknown) > 0 && r.asked < maxAsked {
		id := r.unknown[0]
		r.unknown = r.unknown[1:]
		if e := r.entries[id]; e != nil && e.state == stateUnknown {
			e.state = stateAsked
			r.asked++
			ids = append(ids, id)
		}
	}
	return ids, again
}

// retry moves those that are due to those that are to be asked for, and returns
// when the next one is.
func (r *renewals) retry(now time.Time) (again time.Time) {
	left := r.refused[:0]
	for _, id := range r.refused {
		e := r.entries[id]
		switch {
		case e == nil || e.state != stateRefused:
		case !e.due.After(now):
			e.state = stateUnknown
			r.unknown = append(r.unknown, id)
		default:
			left = append(left, id)
			if again.IsZero() || e.due.Before(again) {
				again = e.due
			}
		}
	}
	r.refused = left
	return again
}

// shortened takes up to a pause's half off it, so that the many clients of one
// relay do not come back in step. roll is random, in [0, 1).
func shortened(d time.Duration, roll float64) time.Duration {
	return d - time.Duration(roll*float64(d/2))
}

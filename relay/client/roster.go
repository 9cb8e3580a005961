// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"time"
)

// firstRest is how long a relay is left alone that has said no.
const firstRest = 50 * time.Millisecond

// roster decides which registrations are to be made again: all of them on a
// new session, and after a while those that failed. It knows the registrations
// whose first acknowledgement has come, by id.
type roster struct{ entries map[uint64]*entry }

type entry struct {
	state    standing
	failures int
	due      time.Time // while resting
}

// standing is how a registration stands with the relay.
type standing uint8

const (
	isAway    standing = iota // the relay does not know it
	isAsked                   // the relay was asked and has not answered
	isResting                 // the relay said no; it is asked again when due
	isMember                  // acknowledged
)

func newRoster() *roster { return &roster{entries: map[uint64]*entry{}} }

// add takes a registration, which is acknowledged on the present session or
// away.
func (r *roster) add(id uint64, acknowledged bool) {
	e := &entry{}
	if acknowledged {
		e.state = isMember
	}
	r.entries[id] = e
}

// remove forgets a registration.
func (r *roster) remove(id uint64) { delete(r.entries, id) }

// detached is called when a session has ended, and with it its members.
func (r *roster) detached() {
	for _, e := range r.entries {
		e.state, e.failures = isAway, 0
	}
}

// registered takes a yes of the relay. It says whether that was waited for.
func (r *roster) registered(id uint64) bool {
	e := r.entries[id]
	if e == nil || e.state != isAsked {
		return false
	}
	e.state, e.failures = isMember, 0
	return true
}

// failed takes a no of the relay, which is asked again after a pause that
// doubles up to longPause. roll is random, see shortened.
func (r *roster) failed(id uint64, now time.Time, roll float64) {
	e := r.entries[id]
	if e == nil || e.state != isAsked {
		return
	}
	e.state, e.due = isResting, now.Add(shortened(min(firstRest<<min(e.failures, 10), longPause), roll))
	e.failures++
}

// ask returns the registrations that the relay is to be asked for now, in the
// order of their ids, and when to look again (zero = when something happens).
func (r *roster) ask(now time.Time) (ids []uint64, next time.Time) {
	for id, e := range r.entries {
		switch {
		case e.state == isAway, e.state == isResting && !e.due.After(now):
			e.state = isAsked
			ids = append(ids, id)
		case e.state == isResting && (next.IsZero() || e.due.Before(next)):
			next = e.due
		}
	}
	slices.Sort(ids)
	return ids, next
}

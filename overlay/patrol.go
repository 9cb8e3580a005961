// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"
	"time"
)

// poll returns the dials to begin now, and when to poll again; zero means
// after the next event.
func (cs *candidates) poll(now time.Time) (dials []dial, wake time.Time) {
	ready := cs.ready(now)
	for _, c := range ready {
		if cs.dialing >= maxDials {
			break // polled again when a dial ends
		}
		dials = append(dials, cs.begin(now, c))
	}
	return dials, cs.wake(now)
}

// ready lists whom to dial now: the eager ones by the time they are due, then
// those whose turn the patrol says it is.
func (cs *candidates) ready(now time.Time) []*candidate {
	var ready []*candidate
	for _, c := range cs.list {
		if cs.wanted(c) && !c.next.IsZero() && !c.next.After(now) {
			ready = append(ready, c)
		}
	}
	slices.SortStableFunc(ready, func(a, b *candidate) int { return a.next.Compare(b.next) })
	if c := cs.patrol(now, false); c != nil && !now.Before(cs.patrolNext) && cs.dialing+len(ready) < maxDials {
		cs.patrolNext = now.Add(patrolPace)
		ready = append(ready, c)
	}
	if c := cs.patrol(now, true); c != nil && !now.Before(cs.patrolSlowNext) && cs.dialing+len(ready) < maxDials {
		cs.patrolSlowNext = now.Add(patrolSlowPace)
		ready = append(ready, c)
	}
	return ready
}

// wanted says whether c may be dialled at all.
func (cs *candidates) wanted(c *candidate) bool {
	return !c.dialing && (c.peer == "" || !cs.connected[c.peer])
}

// patrol returns who was not dialled for longest among those on patrol, at
// the normal or the slow pace.
func (cs *candidates) patrol(now time.Time, slow bool) *candidate {
	var first *candidate
	for _, c := range cs.list {
		if !cs.wanted(c) || !c.next.IsZero() || (now.Sub(c.since) >= patrolFor) != slow {
			continue
		}
		if first == nil || c.dialled.Before(first.dialled) {
			first = c
		}
	}
	return first
}

func (cs *candidates) begin(now time.Time, c *candidate) dial {
	c.dialing, c.dialled = true, now
	cs.dialing++
	return dial{id: c.id, candidate: Candidate{Peer: c.peer, Addrs: slices.Clone(c.addrs), Source: c.source}}
}

// wake is when ready will find somebody next, if nothing happens before.
func (cs *candidates) wake(now time.Time) time.Time {
	if cs.dialing >= maxDials {
		return time.Time{}
	}
	var wake time.Time
	sooner := func(t time.Time) {
		if t.Before(now) {
			t = now
		}
		if wake.IsZero() || t.Before(wake) {
			wake = t
		}
	}
	for _, c := range cs.list {
		switch {
		case !cs.wanted(c):
		case !c.next.IsZero():
			sooner(c.next)
		case now.Sub(c.since) >= patrolFor:
			sooner(cs.patrolSlowNext)
		default:
			sooner(cs.patrolNext)
		}
	}
	return wake
}

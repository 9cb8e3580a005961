// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"container/list"
	"net/netip"
	"time"

	"github.com/arke-mesh/arke/internal/crowd"
)

// underPressure is how long a handshake may wait for its peer when others wait for
// its place.
const underPressure = time.Second

// maxMarks is how many greetings are remembered, so that a recorded one costs
// nothing. One mark takes about 40 bytes.
const maxMarks = 1 << 16

// door decides, of the connections that were accepted, which ones wait, which are
// sent away, and which are worked on. Pure core; doorkeeper.go drives it.
//
//	silent → ready → working ⇄ resting → gone
//
// Who has said nothing holds a place that costs little: there are thousands, and
// when they are full, one at random of the source that has most goes. Who has
// greeted with a key is ready, in order of arrival. At most so many handshakes are
// under way, and of those at most so many are worked on at a time, about one per
// core: the others wait for their peers.
type door struct {
	// Immutable.
	maxSilent, maxHandshakes, maxWork int
	random                            func(n int) int

	visitors map[uint64]*visitor
	silent   *crowd.Crowd[netip.Prefix]
	ready    *crowd.Crowd[netip.Prefix]
	line     *list.List // of *visitor: ready, in order of arrival
	begun    *list.List // of *visitor: in their handshake, in order
	again    *list.List // of *visitor: of these, who wait for a turn
	working  int        // of them are worked on
	marks    marks
}

// visitor is a connection.
type visitor struct {
	id     uint64
	source netip.Prefix
	state  visitorState
	since  time.Time     // its handshake
	queued *list.Element // in line or again
	begun  *list.Element
}

type visitorState uint8

const (
	visitorSilent  visitorState = iota // has not greeted
	visitorReady                       // has, and waits for its handshake to begin
	visitorWorking                     // is worked on
	visitorResting                     // its peer has to say something
	visitorAgain                       // has heard from its peer, and waits for a turn
)

// doorEvent is one of those below, about one connection.
type doorEvent struct {
	kind   doorEventKind
	id     uint64
	source netip.Prefix // arrived
	mark   uint64       // greeted
}

type doorEventKind uint8

const (
	doorArrived doorEventKind = iota // a connection was accepted
	doorGreeted                      // its greeting is good
	doorRests                        // its handshake waits for the peer
	doorResumes                      // and does no longer
	doorGone                         // it is closed, or through
	doorTick                         // the time that wake has named has come
)

// doorAction says what to do with a connection.
type doorAction struct {
	id   uint64
	away bool    // close it; else it may work
	why  counter // if away
}

func newDoor(maxSilent, maxHandshakes, maxWork int, random func(n int) int) *door {
	return &door{
		maxSilent: maxSilent, maxHandshakes: maxHandshakes, maxWork: maxWork, random: random,
		visitors: make(map[uint64]*visitor), silent: crowd.New[netip.Prefix](), ready: crowd.New[netip.Prefix](),
		line: list.New(), begun: list.New(), again: list.New(),
		marks: marks{known: make(map[uint64]struct{})},
	}
}

// step learns of one event. An event of somebody who was sent away says nothing.
func (d *door) step(now time.Time, e doorEvent) (actions []doorAction) {
	v := d.visitors[e.id]
	switch {
	case e.kind == doorArrived:
		d.visitors[e.id] = &visitor{id: e.id, source: e.source}
		d.silent.Add(e.id, e.source)
		actions = d.crowded(actions, d.silent, countStrangerEvicted)
	case e.kind == doorTick || v == nil:
	case e.kind == doorGone:
		d.remove(v)
	case e.kind == doorGreeted && v.state == visitorSilent:
		if d.marks.seen(e.mark) {
			actions = d.sendAway(actions, v, countReplay)
			break
		}
		d.silent.Remove(v.id)
		v.state = visitorReady
		d.ready.Add(v.id, v.source)
		v.queued = d.line.PushBack(v)
		actions = d.crowded(actions, d.ready, countHandshakeEvicted)
	case e.kind == doorRests && v.state == visitorWorking:
		v.state = visitorResting
		d.working--
	case e.kind == doorResumes && v.state == visitorResting:
		v.state = visitorAgain
		v.queued = d.again.PushBack(v)
	}
	return d.turns(now, actions)
}

// crowded sends somebody away if there are too many.
func (d *door) crowded(actions []doorAction, c *crowd.Crowd[netip.Prefix], why counter) []doorAction {
	if c.Len() <= d.maxSilent {
		return actions
	}
	return d.sendAway(actions, d.visitors[c.Victim(d.random)], why)
}

func (d *door) sendAway(actions []doorAction, v *visitor, why counter) []doorAction {
	d.remove(v)
	return append(actions, doorAction{id: v.id, away: true, why: why})
}

// turns gives out the turns that are free: first to handshakes that have begun, so
// that few of them are under way.
func (d *door) turns(now time.Time, actions []doorAction) []doorAction {
	for d.working < d.maxWork {
		if first := d.again.Front(); first != nil {
			v := first.Value.(*visitor)
			d.again.Remove(first)
			actions = d.work(actions, v)
			continue
		}
		first := d.line.Front()
		if first == nil {
			return actions
		}
		if d.begun.Len() >= d.maxHandshakes {
			slow := d.slowest()
			if slow == nil || now.Sub(slow.since) < underPressure {
				return actions
			}
			actions = d.sendAway(actions, slow, countHandshakeEvicted)
			continue
		}
		v := first.Value.(*visitor)
		d.line.Remove(first)
		d.ready.Remove(v.id)
		v.since = now
		v.begun = d.begun.PushBack(v)
		actions = d.work(actions, v)
	}
	return actions
}

func (d *door) work(actions []doorAction, v *visitor) []doorAction {
	v.state, v.queued = visitorWorking, nil
	d.working++
	return append(actions, doorAction{id: v.id})
}

// slowest is whose handshake has begun first of those that wait for their peers; nil
// if nobody does.
func (d *door) slowest() *visitor {
	for e := d.begun.Front(); e != nil; e = e.Next() {
		if v := e.Value.(*visitor); v.state == visitorResting {
			return v
		}
	}
	return nil
}

// wake is when a tick is wanted; zero means after the next event.
func (d *door) wake() time.Time {
	if d.line.Len() == 0 || d.begun.Len() < d.maxHandshakes || d.working >= d.maxWork {
		return time.Time{}
	}
	slow := d.slowest()
	if slow == nil {
		return time.Time{}
	}
	return slow.since.Add(underPressure)
}

func (d *door) remove(v *visitor) {
	delete(d.visitors, v.id)
	switch v.state {
	case visitorSilent:
		d.silent.Remove(v.id)
	case visitorReady:
		d.ready.Remove(v.id)
		d.line.Remove(v.queued)
	case visitorAgain:
		d.again.Remove(v.queued)
	case visitorWorking:
		d.working--
	case visitorResting:
	}
	if v.begun != nil {
		d.begun.Remove(v.begun)
	}
}

// marks remembers the last maxMarks numbers.
type marks struct {
	known map[uint64]struct{}
	ring  []uint64
	next  int // the oldest, once ring is full
}

// seen says whether mark is known; it is from here on.
func (m *marks) seen(mark uint64) bool {
	if _, ok := m.known[mark]; ok {
		return true
	}
	m.known[mark] = struct{}{}
	if len(m.ring) < maxMarks {
		m.ring = append(m.ring, mark)
		return false
	}
	delete(m.known, m.ring[m.next])
	m.ring[m.next] = mark
	m.next = (m.next + 1) % maxMarks
	return false
}

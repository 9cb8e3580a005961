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

// shortLine is how many handshakes there may be under way for each that waits to begin,
// before one of them yields at once.
const shortLine = 8

// maxMarks is how many greetings are remembered, so that a recorded one costs
// nothing. One mark takes about 40 bytes.
const maxMarks = 1 << 16

// door decides, of the connections that were accepted, which ones wait, which are
// sent away, and which are worked on. Pure core; doorkeeper.go drives it.
//
//	silent → ready → working ⇄ resting → gone
//
// A connection that has said nothing holds a place that costs little: there are
// thousands, and when they are full, one at random of the source that has most goes.
// One that has greeted with a key is ready: sources take turns, and of one source the
// first comes first. At most so many handshakes are under way, and of those at most so
// many are worked on at a time, about one per core: the others wait for their peers,
// and one of them yields when others are ready (see yields).
type door struct {
	// Immutable.
	maxSilent, maxHandshakes, maxWork int
	random                            func(n int) int

	visitors map[uint64]*visitor
	silent   *crowd.Crowd[netip.Prefix]
	ready    *crowd.Crowd[netip.Prefix]
	line     readyLine                  // the same, in the order in which they begin
	begun    *list.List                 // of *visitor: in their handshake, in order
	again    *list.List                 // of *visitor: of these, who wait for a turn
	resting  *crowd.Crowd[netip.Prefix] // of these, who wait for their peers
	working  int                        // of them are worked on
	marks    marks
}

// visitor is a connection.
type visitor struct {
	id     uint64
	source netip.Prefix
	state  visitorState
	since  time.Time     // its handshake
	queued *list.Element // in its source's part of line, or in again
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
		line: newReadyLine(), begun: list.New(), again: list.New(), resting: crowd.New[netip.Prefix](),
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
		d.line.add(v)
		actions = d.crowded(actions, d.ready, countHandshakeEvicted)
	case e.kind == doorRests && v.state == visitorWorking:
		v.state = visitorResting
		d.resting.Add(v.id, v.source)
		d.working--
	case e.kind == doorResumes && v.state == visitorResting:
		v.state = visitorAgain
		d.resting.Remove(v.id)
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
		v, slow := d.next(now)
		if v == nil {
			return actions
		}
		if slow != nil {
			actions = d.sendAway(actions, slow, countHandshakeEvicted)
		}
		d.line.take(v)
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

// next returns the visitor whose handshake begins now, nil if none does, and the one that
// makes room for it, if it takes one.
func (d *door) next(now time.Time) (v, slow *visitor) {
	for v := range d.line.firsts {
		if d.begun.Len() < d.maxHandshakes {
			return v, nil
		}
		if slow := d.yields(now, v.source); slow != nil {
			return v, slow
		}
	}
	return nil, nil
}

// yields returns the handshake that makes room for one of a source that is ready, nil
// if none does yet. If one source has more handshakes that wait for their peers than its
// share, or if the line is long, one at random of the source that has most of them goes
// at once: with a second for each the line would take too long. Else the handshake that
// has begun first goes, once it has had its second.
func (d *door) yields(now time.Time, ready netip.Prefix) *visitor {
	if most := d.resting.Most(); most > d.resting.Of(ready)+1 || most > 0 && d.ready.Len() > max(1, d.maxHandshakes/shortLine) {
		return d.visitors[d.resting.Victim(d.random)]
	}
	slow := d.slowest()
	if slow == nil || now.Sub(slow.since) < underPressure {
		return nil
	}
	return slow
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
	if d.ready.Len() == 0 || d.begun.Len() < d.maxHandshakes || d.working >= d.maxWork {
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
		d.line.remove(v)
	case visitorAgain:
		d.again.Remove(v.queued)
	case visitorWorking:
		d.working--
	case visitorResting:
		d.resting.Remove(v.id)
	}
	if v.begun != nil {
		d.begun.Remove(v.begun)
	}
}

// readyLine orders visitors: their sources take turns, and of one source the first
// that came is the first.
type readyLine struct {
	sources map[netip.Prefix]*list.Element // in turns
	turns   *list.List                     // of *list.List of *visitor, each of one source and not empty
}

func newReadyLine() readyLine {
	return readyLine{sources: make(map[netip.Prefix]*list.Element), turns: list.New()}
}

func (l readyLine) add(v *visitor) {
	turn := l.sources[v.source]
	if turn == nil {
		turn = l.turns.PushBack(list.New())
		l.sources[v.source] = turn
	}
	v.queued = turn.Value.(*list.List).PushBack(v)
}

// firsts lists the first visitor of each source, in the order of their turns.
func (l readyLine) firsts(yield func(*visitor) bool) {
	for turn := l.turns.Front(); turn != nil; turn = turn.Next() {
		if !yield(turn.Value.(*list.List).Front().Value.(*visitor)) {
			return
		}
	}
}

// take removes a visitor, and has the other sources take their turns before its.
func (l readyLine) take(v *visitor) {
	l.turns.MoveToBack(l.sources[v.source])
	l.remove(v)
}

func (l readyLine) remove(v *visitor) {
	turn := l.sources[v.source]
	same := turn.Value.(*list.List)
	if same.Remove(v.queued); same.Len() == 0 {
		l.turns.Remove(turn)
		delete(l.sources, v.source)
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

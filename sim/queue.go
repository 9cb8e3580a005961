// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "cmp"

// kind is what an event is about. Among simultaneous events the lower kind
// comes first.
type kind uint8

const (
	kindScenario kind = iota // Network.At, Network.Go and faults
	kindDial                 // a node begins to dial
	kindSyn                  // a dial arrives
	kindAnswer               // its answer arrives
	kindRefused              // or its refusal does
	kindGiveUp               // or the dialer's patience ends
	kindDialed               // a waiting Connect or Open returns
	kindData                 // bytes of one stream arrive
	kindCredit               // the receiver's window opens
	kindConnDown             // the other end's close or reset arrives
	kindExpire               // a silent connection's keepalive ends
	kindGaveUp               // a packet was lost too often
	kindRetry                // a sender tries again what was lost
	kindPump                 // the bottleneck has room for the next stream
	kindCorrupt              // a delivery was corrupted: its connection ends
	kindReader               // a blocked Read looks again
	kindWriter               // a blocked Write looks again
	kindPeer                 // PeerDown is called
	kindLookup               // a lookup begins
	kindFound                // a lookup ends
	kindLearn                // a router learns of or forgets a peer
	kindRouter               // Router.OnChange is called
	kindRefresh              // a router looks for its neighbours
	kindTimer                // Clock.AfterFunc
	kindWake                 // Exec.Wake
	kindGo                   // Exec.Go
	kindNote                 // Network.Note
)

var kindNames = [...]string{
	"scenario", "dial", "syn", "answer", "refused", "giveup", "dialed", "data", "credit", "conndown", "expire", "gaveup", "retry", "pump",
	"corrupt", "reader",
	"writer", "peerdown", "lookup", "found", "learn", "router", "refresh", "timer", "wake", "go", "note",
}

// String returns the name that traces print.
func (k kind) String() string { return kindNames[k] }

// key says canonically what an event is about: two runs give the same event
// the same key. Node is where it happens, peer the other end if there is one.
type key struct {
	kind kind
	node uint32
	peer uint32
	n    uint64
	name string
}

func (k key) compare(o key) int {
	if c := cmp.Compare(k.kind, o.kind); c != 0 {
		return c
	}
	if c := cmp.Compare(k.node, o.node); c != 0 {
		return c
	}
	if c := cmp.Compare(k.peer, o.peer); c != 0 {
		return c
	}
	if c := cmp.Compare(k.n, o.n); c != 0 {
		return c
	}
	return cmp.Compare(k.name, o.name)
}

// event is something that will happen once.
type event struct {
	at    int64 // ns of virtual time
	key   key
	seq   uint64 // order of insertion: decides only between equal keys, which makes it a sequence per key
	size  int    // bytes of content
	sum   uint64 // hash of the content
	apply func() // called by the driver, without the lock; wakes at most one goroutine

	pos     int // index in the queue, -1 = not in it
	parked  bool
	dropped bool // removed while parked
}

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if c := e.key.compare(o.key); c != 0 {
		return c < 0
	}
	return e.seq < o.seq
}

// queue is a 4-ary heap of events in the order of (time, key, sequence).
type queue struct {
	events []*event
	seq    uint64
}

func (q *queue) peek() *event {
	if len(q.events) == 0 {
		return nil
	}
	return q.events[0]
}

func (q *queue) push(e *event) {
	q.seq++
	e.seq = q.seq
	e.pos = len(q.events)
	q.events = append(q.events, e)
	q.up(e.pos)
}

func (q *queue) pop() *event {
	if len(q.events) == 0 {
		return nil
	}
	e := q.events[0]
	q.remove(e)
	return e
}

// remove takes e out and reports whether it was in.
func (q *queue) remove(e *event) bool {
	i := e.pos
	if i < 0 || i >= len(q.events) || q.events[i] != e {
		return false
	}
	last := len(q.events) - 1
	q.swap(i, last)
	q.events[last] = nil
	q.events = q.events[:last]
	e.pos = -1
	if i < last {
		q.up(i)
		q.down(i)
	}
	return true
}

func (q *queue) swap(i, j int) {
	q.events[i], q.events[j] = q.events[j], q.events[i]
	q.events[i].pos, q.events[j].pos = i, j
}

func (q *queue) up(i int) {
	for i > 0 {
		p := (i - 1) / 4
		if !q.events[i].before(q.events[p]) {
			return
		}
		q.swap(i, p)
		i = p
	}
}

func (q *queue) down(i int) {
	for {
		first := 4*i + 1
		if first >= len(q.events) {
			return
		}
		best := first
		for c := first + 1; c < first+4 && c < len(q.events); c++ {
			if q.events[c].before(q.events[best]) {
				best = c
			}
		}
		if !q.events[best].before(q.events[i]) {
			return
		}
		q.swap(i, best)
		i = best
	}
}

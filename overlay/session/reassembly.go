// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// maxPartials is how many messages of one link may be incomplete at a time:
// what an honest sender
// has on its way in lane bulk, a single frame there that is cut, and one in lane pub.
const maxPartials = maxActive + 2

// How long a message may be incomplete: without a fragment, and in all, beyond
// what it takes at the slowest rate that anybody waits for.
const (
	fragmentIdle = 30 * time.Second
	fragmentRate = 16 << 10 // bytes a second
)

// Budget is what a node may hold of incomplete messages, as far as one peer goes.
// Its methods may be called concurrently, and do not block.
type Budget interface {
	// Take says whether n bytes more may be held; they are from here on.
	Take(n int) bool
	// Give returns n bytes.
	Give(n int)
}

// unbounded is the Budget of who has none.
type unbounded struct{}

func (unbounded) Take(int) bool { return true }
func (unbounded) Give(int)      {}

// reassembly puts the fragments of one session together. It keeps at most
// maxPartials incomplete messages, whose announced sizes sum up to maxBytes at
// most, and allocates as bytes arrive, not as they are announced, as far as the
// budget goes. No lock, no clock: one goroutine at a time uses it.
type reassembly struct {
	maxMessage int
	maxBytes   int
	budget     Budget
	bodies     *wire.Bodies        // memory for messages; nil = it is not shared
	passing    map[wire.Kind]bool  // of which nobody has kept the last message
	partials   map[uint32]*partial // by channel
	bytes      int                 // announced sizes together
}

// partial is an incomplete message.
type partial struct {
	kind  wire.Kind
	total int
	buf   []byte
	held  int // of the budget
	begun time.Time
	last  time.Time // its last fragment
}

func newReassembly(maxMessage int, b Budget, bodies *wire.Bodies) *reassembly {
	return &reassembly{
		maxMessage: maxMessage,
		budget:     b,
		bodies:     bodies,
		maxBytes:   3 * maxMessage,
		passing:    make(map[wire.Kind]bool),
		partials:   make(map[uint32]*partial),
	}
}

// add takes a fragment. When it completes a message, add returns its kind and
// its body, which the caller owns; otherwise the kind is 0. drop says why
// something was thrown away, if it was. The payload is copied, or becomes the
// body.
func (r *reassembly) add(now time.Time, f wire.Fragment) (k wire.Kind, body []byte, drop Drop) {
	p := r.partials[f.Channel]
	if f.First {
		if p != nil { // the sender gave that message up without saying so
			r.remove(f.Channel, p)
			drop = DropFragmentMismatch
		}
		var refused Drop
		if p, refused = r.begin(f); p == nil {
			return 0, nil, refused
		}
	}
	if p == nil {
		return 0, nil, DropFragmentOrphan
	}
	if size := len(p.buf) + len(f.Payload); size > p.total || f.Last != (size == p.total) {
		r.remove(f.Channel, p)
		return 0, nil, DropFragmentMismatch
	}
	if f.First && f.Last {
		r.remove(f.Channel, p)
		return p.kind, f.Payload, drop
	}
	if f.First {
		p.begun = now
	}
	p.last = now
	if !r.append(p, f.Payload) {
		r.remove(f.Channel, p)
		return 0, nil, DropFragmentShare
	}
	if !f.Last {
		return 0, nil, drop
	}
	r.remove(f.Channel, p)
	return p.kind, p.buf, drop
}

// expire gives up what has taken too long, and says how many messages that were.
func (r *reassembly) expire(now time.Time) (n int) {
	for channel, p := range r.partials {
		whole := fragmentIdle + time.Duration(p.total/fragmentRate)*time.Second
		if now.Sub(p.last) >= fragmentIdle || now.Sub(p.begun) >= whole {
			r.remove(channel, p)
			n++
		}
	}
	return n
}

// clear gives everything up, and says how many messages that were.
func (r *reassembly) clear() (n int) {
	for channel, p := range r.partials {
		r.remove(channel, p)
		n++
	}
	return n
}

// begin makes room for a new message, or refuses it.
func (r *reassembly) begin(f wire.Fragment) (*partial, Drop) {
	// The total is judged as the unsigned number it is: an int may be small.
	if uint64(f.Total) > uint64(r.maxMessage) {
		return nil, DropMessageTooLarge
	}
	total := int(f.Total)
	if len(r.partials) >= maxPartials || r.bytes+total > r.maxBytes {
		return nil, DropReassemblyFull
	}
	p := &partial{kind: f.Kind, total: total}
	r.partials[f.Channel] = p
	r.bytes += total
	return p, DropNone
}

func (r *reassembly) remove(channel uint32, p *partial) {
	delete(r.partials, channel)
	r.bytes -= p.total
	r.budget.Give(p.held)
}

// handled takes back the body of a message of several fragments, unless it is kept.
func (r *reassembly) handled(k wire.Kind, body []byte, kept bool) {
	if r.passing[k] = !kept; !kept && r.bodies != nil {
		r.bodies.Put(body)
	}
}

// pending is how many messages are incomplete.
func (r *reassembly) pending() int { return len(r.partials) }

// append copies b behind what p has, if the budget has room. The buffer grows with
// what arrived, up to the total: announcing much costs the receiver nothing.
func (r *reassembly) append(p *partial, b []byte) bool {
	if need := len(p.buf) + len(b); need > cap(p.buf) {
		size := min(p.total, max(2*cap(p.buf), 4*len(b)))
		if !r.budget.Take(size - p.held) {
			return false
		}
		p.held = size
		var grown []byte
		switch {
		case size < p.total:
			grown = make([]byte, size)
		case r.passing[p.kind]:
			grown = r.bodies.Passing(size)
		default:
			grown = r.bodies.Kept(size)
		}
		p.buf = grown[:copy(grown, p.buf)]
	}
	p.buf = append(p.buf, b...)
	return true
}

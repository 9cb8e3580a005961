// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/arke-mesh/arke/internal/wire"

// maxPartials is how many messages of one link may be incomplete at a time:
// what an honest sender
// has on its way in lane bulk, a single frame there that is cut, and one in lane pub.
const maxPartials = maxActive + 2

// reassembly puts the fragments of one session together. It keeps at most
// maxPartials incomplete messages, whose announced sizes sum up to maxBytes at
// most, and allocates as bytes arrive, not as they are announced. No lock, no
// clock: one goroutine at a time uses it.
type reassembly struct {
	maxMessage int
	maxBytes   int
	partials   map[uint32]*partial // by channel
	bytes      int                 // announced sizes together
}

// partial is an incomplete message.
type partial struct {
	kind  wire.Kind
	total int
	buf   []byte
}

func newReassembly(maxMessage int) *reassembly {
	return &reassembly{
		maxMessage: maxMessage,
		maxBytes:   3 * maxMessage,
		partials:   make(map[uint32]*partial),
	}
}

// add takes a fragment. When it completes a message, add returns its kind and
// its body, which the caller owns; otherwise the kind is 0. drop says why
// something was thrown away, if it was. The payload is copied, or becomes the
// body.
func (r *reassembly) add(f wire.Fragment) (k wire.Kind, body []byte, drop Drop) {
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
	if !f.Last {
		p.append(f.Payload)
		return 0, nil, drop
	}
	r.remove(f.Channel, p)
	if f.First {
		return p.kind, f.Payload, drop
	}
	p.append(f.Payload)
	return p.kind, p.buf, drop
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
}

// pending is how many messages are incomplete.
func (r *reassembly) pending() int { return len(r.partials) }

// append copies b behind what is there. The buffer grows with what arrived, up
// to the total: announcing much costs the receiver nothing.
func (p *partial) append(b []byte) {
	if need := len(p.buf) + len(b); need > cap(p.buf) {
		grown := make([]byte, len(p.buf), min(p.total, max(2*cap(p.buf), 4*len(b))))
		copy(grown, p.buf)
		p.buf = grown
	}
	p.buf = append(p.buf, b...)
}

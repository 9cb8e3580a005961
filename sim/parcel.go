// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// parcel is what one stream wants to send on a path whose bottleneck is busy.
// The streams of a path take turns, so that nobody waits for another one's
// megabytes.
type parcel struct {
	s *stream
	delivery

	ending *conn // instead of a stream's: the end of a connection, after its streams
	sender int   // which end
}

// turn is how many bytes a stream sends before it is another one's turn.
const turn = 16 << 10

// narrow reports whether what is sent may have to wait for the bottleneck.
func (p *path) narrow() bool { return p.link.Model().Mbps > 0 || len(p.parcels) > 0 }

// ship sends what a stream has to say, now or when the bottleneck has room.
func (p *path) ship(s *stream, d delivery) {
	now := time.Duration(p.n.now())
	switch {
	case s.parcel != nil:
		s.parcel.merge(d)
	case len(p.parcels) > 0 || len(d.data) > p.turn() || !p.link.Room(now, len(d.data)):
		s.parcel = &parcel{s: s, delivery: d, sender: s.end}
		p.parcels = append(p.parcels, s.parcel)
		p.feed()
	default:
		s.dispatch(d)
	}
}

// merge adds a later delivery of the same stream.
func (q *parcel) merge(d delivery) {
	if d.reset != nil {
		q.data, q.reset = nil, d.reset // what has not left never will
	}
	q.data = append(q.data, d.data...)
	q.end = q.end || d.end
}

func (p *path) turn() int {
	m := p.link.Model()
	if m.Mbps == 0 {
		return 1 << 30
	}
	return min(turn, m.Queue)
}

// feed gives parcels to the link while that has room, and plans to go on.
func (p *path) feed() {
	now := time.Duration(p.n.now())
	for len(p.parcels) > 0 && !p.blocked() && p.pump == nil {
		q := p.parcels[0]
		size := min(len(q.data), p.turn())
		if at := p.link.RoomAt(now, size); at > now {
			k := key{kind: kindPump, node: p.from.index, peer: p.to.index}
			p.pump = p.n.push(&event{at: int64(at), key: k, apply: p.goOn})
			return
		}
		p.parcels = p.parcels[1:]
		if p.hand(q, size) {
			p.parcels = append(p.parcels, q)
		}
	}
}

func (p *path) goOn() {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.pump = nil
	p.feed()
}

// hand sends so many bytes of q and reports whether more is left.
func (p *path) hand(q *parcel, size int) bool {
	if c := q.ending; c != nil {
		if p.carries(c, q.sender) {
			return true
		}
		c.sendEnd(q.sender)
		return false
	}
	s := q.s
	if s.c.ends[s.end].state == stateSilent {
		s.parcel = nil
		return false // lost with its sender
	}
	if size < len(q.data) {
		s.dispatch(delivery{open: q.open, data: q.data[:size:size]})
		q.open, q.data = false, q.data[size:]
		return true
	}
	s.parcel = nil
	s.dispatch(q.delivery)
	s.wake(&s.writeBy)
	return false
}

// carries reports whether a stream of c has a parcel from that end.
func (p *path) carries(c *conn, end int) bool {
	for _, q := range p.parcels {
		if q.s != nil && q.s.c == c && q.s.end == end {
			return true
		}
	}
	return false
}

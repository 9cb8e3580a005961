// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import "github.com/arke-mesh/arke/patterns"

// backlog is what waits for a subscriber, in order: a pure core without lock or
// clock. It decides what is taken and what is dropped, and keeps the one
// account that always holds: everything that was put, and everything that was
// reported as missing, is delivered, missed, or queued.
type backlog struct {
	limits limits

	waiting queue
	last    *patterns.Gaps // those behind the last message; nil = none

	delivered uint64
	missed    uint64
}

// limits is what a backlog needs of the options.
type limits struct {
	length, bytes int
	overflow      patterns.Overflow
}

// room says whether a message of that size fits, and what is in its way if not.
func (b *backlog) room(size int) (ok bool, why dropReason) {
	switch {
	case b.waiting.Len() == 0:
		return true, 0
	case b.waiting.Len() >= b.limits.length:
		return false, dropLength
	case b.waiting.bytes+size > b.limits.bytes:
		return false, dropBytes
	}
	return true, 0
}

// put takes a message in, or drops it or older ones. It says how many are
// dropped and why, which is 0 if none.
func (b *backlog) put(p *patterns.Publication, size int) (dropped uint64, why dropReason) {
	ok, why := b.room(size)
	if !ok && b.limits.overflow != patterns.OverflowOldest {
		b.miss(p)
		return 1, why
	}
	for !ok {
		b.dropOldest()
		dropped++
		ok, _ = b.room(size)
	}
	b.push(p, size)
	return dropped, why
}

// push takes a message in that has room.
func (b *backlog) push(p *patterns.Publication, size int) {
	b.waiting.push(place{one: p, bytes: size, before: b.last})
	b.last = nil
}

// pushRun is push for all of a run, which it keeps, if there is room for all of them.
func (b *backlog) pushRun(r *Run, size int) bool {
	if b.waiting.Len()+r.Count > b.limits.length || b.waiting.bytes+size > b.limits.bytes {
		return false
	}
	b.waiting.push(place{run: r, bytes: size, before: b.last})
	b.last = nil
	return true
}

// miss notes that a message was dropped behind all that wait.
func (b *backlog) miss(p *patterns.Publication) { b.gap(slow(p)) }

// gap notes that messages are missing behind all that wait.
func (b *backlog) gap(g patterns.Gap) {
	b.missed += g.Missed
	b.last = with(b.last, g)
}

// dropOldest drops the first message and leaves a gap in its place.
func (b *backlog) dropOldest() {
	p, before := b.waiting.pop()
	b.missed++
	here := with(before, slow(&p))
	behind := &b.last
	if b.waiting.Len() > 0 {
		behind = &b.waiting.first().before
	}
	if *behind != nil {
		for _, g := range **behind {
			here = with(here, g)
		}
	}
	*behind = here
}

// take returns what the subscriber gets next: gaps, or a message where there are none;
// ok is false if nothing waits.
func (b *backlog) take() (p patterns.Publication, g *patterns.Gaps, ok bool) {
	if b.waiting.Len() == 0 {
		g, b.last = b.last, nil
		return p, g, g != nil
	}
	if first := b.waiting.first(); first.before != nil {
		g, first.before = first.before, nil
		return p, g, true
	}
	b.delivered++
	p, _ = b.waiting.pop()
	return p, nil, true
}

// abandon gives up what waits, and says how many messages that were.
func (b *backlog) abandon() (n uint64) {
	n = uint64(b.waiting.Len())
	b.missed += n
	b.waiting.clear()
	b.last = nil
	return n
}

// empty says whether nothing waits.
func (b *backlog) empty() bool { return b.waiting.Len() == 0 && b.last == nil }

// with adds g to the gaps at one place, of which there may be none.
func with(s *patterns.Gaps, g patterns.Gap) *patterns.Gaps {
	if s == nil {
		return &patterns.Gaps{g}
	}
	*s = s.Add(g)
	return s
}

// slow is the gap that p leaves when it is dropped here.
func slow(p *patterns.Publication) patterns.Gap {
	return patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: patterns.GapSlow}
}

// sizeOf is what a message counts, in bytes.
func sizeOf(p *patterns.Publication) int {
	n := len(p.Topic) + len(p.Body)
	for i := range p.Headers {
		n += len(p.Headers[i].Key) + len(p.Headers[i].Value)
	}
	return n
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"slices"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/patterns"
)

// backlog is what a subscription of a client still has to get: it decides what
// is dropped, what goes next, and what the client may be sent before it says
// that it has taken something. It decides only; whoever owns it serialises the
// calls.
//
// Everything has a number: messages count one, a gap counts what is missing.
type backlog struct {
	limits   bounds // of what waits here while the window is full
	window   bounds // of what the client has not taken
	overflow patterns.Overflow

	lead    []patterns.Gap // stand before the first waiting message
	waiting fifo.Queue[waiting]
	bytes   int // of what waits
	missed  uint64

	sent    uint64             // number of the last one that was handed out
	unread  fifo.Queue[unread] // messages that the client has not taken
	unbytes int                // bytes of them
}

// bounds are messages, and bytes of topics, headers and bodies.
type bounds struct{ length, bytes int }

// room says whether a message of size bytes fits beside so many of so many.
func (b bounds) room(size, length, bytes int) bool {
	return length < b.length && bytes+size <= b.bytes
}

// open says whether a window with so many in it takes one more: a client says
// what it has taken when that is half a window, so that half of it may seem
// taken up and is not.
func (b bounds) open(length, bytes int) bool {
	return length < b.length && bytes <= b.bytes/2
}

type waiting struct {
	p     *patterns.Publication
	size  int
	after []patterns.Gap // stand behind it
}

type unread struct {
	number uint64
	size   int
}

// hasRoom says whether put would drop nothing. What the window has room for
// may wait here, too, until the connection fetches it.
func (b *backlog) hasRoom(size int) bool {
	all := bounds{b.limits.length + b.window.length, b.limits.bytes + b.window.bytes}
	return b.length() == 0 || all.room(size, b.length()+b.unread.Len(), b.bytes+b.unbytes)
}

// length is how many messages wait.
func (b *backlog) length() int { return b.waiting.Len() }

// empty says that nothing waits, gaps included.
func (b *backlog) empty() bool { return b.length() == 0 && len(b.lead) == 0 }

// put takes a message and returns how many were dropped for want of room here,
// or, if tight, because all of the client's subscriptions hold too much: then
// this one must not grow, unless it holds nothing.
func (b *backlog) put(p *patterns.Publication, size int, tight bool) (dropped int) {
	limit := b.bytes
	for !b.hasRoom(size) || tight && b.length() > 0 && b.bytes+size > limit {
		reason := patterns.GapSlow
		if b.hasRoom(size) {
			reason = patterns.GapRelay
		}
		dropped++
		if b.overflow != patterns.OverflowOldest {
			b.gap(dropOf(p, reason))
			return dropped
		}
		oldest := b.pop()
		b.lead = joined(b.lead, append([]patterns.Gap{dropOf(oldest.p, reason)}, oldest.after...))
		b.missed++
	}
	b.waiting.Push(waiting{p: p, size: size})
	b.bytes += size
	return dropped
}

func dropOf(p *patterns.Publication, reason patterns.GapReason) patterns.Gap {
	return patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: reason}
}

// gap takes a gap, which stands behind what waits.
func (b *backlog) gap(g patterns.Gap) {
	b.missed += g.Missed
	if b.length() == 0 {
		b.lead = joined(b.lead, []patterns.Gap{g})
		return
	}
	last := b.waiting.At(b.length() - 1)
	last.after = joined(last.after, []patterns.Gap{g})
}

// joined adds gaps to those they stand beside: one for each reason.
func joined(list, more []patterns.Gap) []patterns.Gap {
	for _, g := range more {
		i := slices.IndexFunc(list, func(x patterns.Gap) bool { return x.Reason == g.Reason })
		if i < 0 {
			list = append(list, g)
			continue
		}
		have := &list[i]
		have.Missed += g.Missed
		have.Exact = have.Exact && g.Exact
		if have.From != g.From {
			have.From = ""
		}
	}
	return list
}

// pop returns the message that waits longest; there must be one.
func (b *backlog) pop() waiting {
	w := b.waiting.Pop()
	b.bytes -= w.size
	return w
}

// next hands out what goes next, with its number: a message, or else a gap; ok
// is false if there is nothing, or no window for it.
func (b *backlog) next() (p *patterns.Publication, g patterns.Gap, number uint64, ok bool) {
	if !b.window.open(b.unread.Len(), b.unbytes) {
		return nil, g, 0, false // gaps wait, too, or a client's would have no end
	}
	if len(b.lead) > 0 {
		g, b.lead = b.lead[0], b.lead[1:]
		if len(b.lead) == 0 {
			b.lead = nil
		}
		b.missed -= g.Missed
		b.sent += g.Missed
		return nil, g, b.sent, true
	}
	if b.length() == 0 {
		b.waiting.Release() // it may stay empty for long
		return nil, g, 0, false
	}
	w := b.pop()
	b.lead = w.after
	b.sent++
	b.unread.Push(unread{b.sent, w.size})
	b.unbytes += w.size
	return w.p, g, b.sent, true
}

// taken says that the client has had everything up to number; false if it can't
// have.
func (b *backlog) taken(number uint64) bool {
	if number > b.sent {
		return false
	}
	for b.unread.Len() > 0 && b.unread.First().number <= number {
		b.unbytes -= b.unread.Pop().size
	}
	return true
}

// total is the number of the last message that has come.
func (b *backlog) total() uint64 { return b.sent + b.missed + uint64(b.length()) }

// resume goes on with a client that has had everything up to number: what came
// since is a gap.
func (b *backlog) resume(number uint64, exact bool) {
	b.drop()
	if number > b.sent { // it was not this one
		number, exact = b.sent, false
	}
	missed := b.sent - number
	b.unread.Clear()
	b.sent, b.missed, b.unbytes = number, missed, 0
	if missed > 0 || !exact {
		b.lead = []patterns.Gap{{Missed: missed, Exact: exact, Reason: patterns.GapRelay}}
	}
}

// drop turns all that waits into numbers, as if it had been handed out, and
// returns how many messages waited.
func (b *backlog) drop() (messages int) {
	messages = b.length()
	b.sent = b.total()
	b.waiting.Clear()
	b.lead, b.bytes, b.missed = nil, 0, 0
	return messages
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// Whatever disturbed a subscription, one that got a message of a publisher, and then a later
// one, is told between the two of all that it did not get: sums over a run would
// let a gap that is told too large make up for one that is not told at all. Of a queue
// counts what no member got, and what any member was told: a history does not say
// which one was to have a message.

// stream is what one life of a node published under one first word: that is numbered
// together, for each subscription.
type stream struct {
	life int
	peer string
	word string
}

// spot is a place in a stream where messages are missing, and when they had to be told.
type spot struct {
	stream
	from, until time.Duration
}

// hole is publications that neither a subscription nor another one of its queue got, in
// one spot.
type hole struct {
	spot
	missing, told uint64
}

// silent is how many of them were not told.
func (h *hole) silent() uint64 { return h.missing - min(h.missing, h.told) }

// holes lists what a subscription without a queue, or those of one, were not told of.
func (x *topics) holes(subscriptions []int) (out []hole) {
	got := make([]map[stream][]int, len(subscriptions)) // deliveries, in order
	for n, i := range subscriptions {
		got[n] = make(map[stream][]int)
		for _, d := range x.got[i] {
			p := x.published[x.h.Deliveries[d].Publication]
			if k, ok := x.streamOf(&x.h.Subscriptions[i], p); ok {
				got[n][k] = append(got[n][k], d)
			}
		}
	}
	at := make(map[spot]int) // index in out
	for i := range x.h.Publications {
		where, ok := x.spotOf(subscriptions, got, i)
		if !ok {
			continue
		}
		n, known := at[where]
		if !known {
			n, out = len(out), append(out, hole{spot: where, told: x.toldBetween(subscriptions, where)})
			at[where] = n
		}
		out[n].missing++
	}
	return slices.DeleteFunc(out, func(h hole) bool { return h.silent() == 0 })
}

// spotOf is where a publication is missing: ok is false if it is not, or nothing can be
// demanded.
func (x *topics) spotOf(subscriptions []int, got []map[stream][]int, publication int) (where spot, ok bool) {
	where.from = x.h.End
	for n, i := range subscriptions {
		s, p := &x.h.Subscriptions[i], &x.h.Publications[publication]
		k, fits := x.streamOf(s, publication)
		if !fits {
			continue
		}
		if s.Queue != "" && (plus(x.deaf(s), x.rules.Known) < p.Sent || s.From > p.Ended) {
			continue // nobody gave it to that one
		}
		if x.has[pairing{i, publication}] > 0 || x.withRelay(s, p) || s.Queue != "" && x.left(s, p) {
			return spot{}, false
		}
		after, before, sure := x.around(got[n][k], publication)
		switch {
		case sure:
			where.from, ok = min(where.from, x.h.Deliveries[after].At), true
		case s.Queue == "":
			return spot{}, false
		}
		switch {
		case before >= 0:
			where.until = max(where.until, x.h.Deliveries[before].At)
		case s.Network != p.Network || !x.settled(s, k):
			return spot{}, false
		default:
			where.until = x.h.End
		}
		where.stream = k
	}
	return where, ok
}

// left says whether a subscription of a queue ended when it may have been given a
// publication: nobody else gets that.
func (x *topics) left(s *history.Subscription, p *history.Publication) bool {
	end := x.deaf(s)
	return end < x.h.End && plus(p.Ended, x.rules.Deliver) > end
}

// withRelay says whether a publication may have been lost with the relay of one of the two,
// of which account judges.
func (x *topics) withRelay(s *history.Subscription, p *history.Publication) bool {
	return x.absent(s, p) || x.unsettled(s, p)
}

// streamOf is the stream that a publication has for a subscription, if that is to hear of
// each that it misses.
func (x *topics) streamOf(s *history.Subscription, publication int) (k stream, ok bool) {
	p := &x.h.Publications[publication]
	if s.From < 0 || p.Outcome != "published" || p.Lost || s.NoEcho && s.Node == p.Publisher || x.source[publication] < 0 || !x.matches(s, p) {
		return k, false
	}
	if s.Network != p.Network && !x.lent.carried(s, p, x.rules, func(*history.Crossing, span) bool { return true }) {
		return k, false
	}
	word, _, _ := strings.Cut(p.Topic, ".")
	return stream{x.source[publication], p.Peer, word}, true
}

// around returns the deliveries before and after what is missing, -1 = there is none; ok is
// false if it was not surely published between the two, or nothing came before.
func (x *topics) around(got []int, publication int) (after, before int, ok bool) {
	p := &x.h.Publications[publication]
	sent := func(d int) *history.Publication {
		return &x.h.Publications[x.published[x.h.Deliveries[d].Publication]]
	}
	// They are in order, but for those that were published at the same time.
	n, _ := slices.BinarySearchFunc(got, p.Sent, func(d int, at time.Duration) int { return cmp.Compare(sent(d).Ended, at) })
	after, before = -1, -1
	if n > 0 {
		after = got[n-1]
	}
	if n < len(got) {
		before = got[n]
	}
	return after, before, after >= 0 && (before < 0 || sent(before).Sent >= p.Ended)
}

// toldBetween is how many messages of a stream subscriptions were told of in a spot; all
// of them, if one was told that nobody knows.
func (x *topics) toldBetween(subscriptions []int, where spot) (told uint64) {
	for i := range x.h.Gaps {
		g := &x.h.Gaps[i]
		publisher, _ := split(g.Peer) // of another network it has that behind it
		if !slices.Contains(subscriptions, g.Subscription) || g.At < where.from || g.At > where.until || publisher != "" && publisher != where.peer {
			continue
		}
		if g.Missed == 0 && !g.Exact {
			return ^uint64(0)
		}
		told += g.Missed
	}
	return told
}

// settled says whether a subscription and the publisher of a stream lived on, undisturbed,
// for long enough before the end that the last message must have been told.
func (x *topics) settled(s *history.Subscription, k stream) bool {
	last := span{minus(x.h.End, x.rules.Deliver), x.h.End}
	n := &x.h.Nodes[k.life]
	return x.deaf(s) == x.h.End && n.Until < 0 && !x.calm.pair(s.Node, n.Name, last)
}

// silent is how many messages a subscription, or a queue of them, missed and was not told of.
func (x *topics) silent(subscriptions []int) uint64 {
	var all, there uint64
	for _, n := range silences(x.account(subscriptions)) {
		all += n
	}
	for _, h := range x.holes(subscriptions) {
		there += h.silent()
	}
	return max(all, there)
}

// checkHoles: what a subscription, or a queue of them, missed between two messages is told
// between the two.
func checkHoles(x *topics, d *violations) {
	note := func(who string, subscriptions []int) {
		for _, h := range x.holes(subscriptions) {
			d.add(h.until, "%s: %d messages of %s on %s are missing in one spot, and %d were reported there",
				who, h.missing, x.h.Nodes[h.life].Name, h.word, h.told)
		}
	}
	for i := range x.h.Subscriptions {
		if s := &x.h.Subscriptions[i]; s.Queue == "" && s.From >= 0 {
			note(listening(s), []int{i})
		}
	}
	for _, q := range x.queueList() {
		note("queue "+q.name+" of "+q.pattern, x.queues[q])
	}
}

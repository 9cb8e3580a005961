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
// let a gap that is told too large make up for one that is not told at all.

// stream is what one life of a node published under one first word: that is numbered
// together, for each subscription.
type stream struct {
	life int
	peer string
	word string
}

// spot is between two deliveries of a stream; before = -1: nothing came later.
type spot struct {
	stream
	after, before int
}

// hole is publications that a subscription did not get, in one spot.
type hole struct {
	spot
	missing, told uint64
	until         time.Duration // it had to be told by then
}

// silent is how many of them were not told.
func (h *hole) silent() uint64 { return h.missing - min(h.missing, h.told) }

// holes lists what a subscription without a queue was not told of.
func (x *topics) holes(subscription int) (out []hole) {
	s := &x.h.Subscriptions[subscription]
	if s.Queue != "" || s.From < 0 {
		return nil
	}
	got := make(map[stream][]int) // deliveries, in order
	for _, d := range x.got[subscription] {
		p := x.published[x.h.Deliveries[d].Publication]
		if k, ok := x.streamOf(s, p); ok {
			got[k] = append(got[k], d)
		}
	}
	at := make(map[spot]int) // index in out; -1 = nothing can be demanded
	for i := range x.h.Publications {
		k, ok := x.streamOf(s, i)
		if !ok || len(got[k]) == 0 || x.has[pairing{subscription, i}] > 0 || x.withRelay(s, &x.h.Publications[i]) {
			continue
		}
		after, before, ok := x.around(got[k], i)
		if !ok {
			continue
		}
		where := spot{k, after, before}
		n, known := at[where]
		if !known {
			n = -1
			if before >= 0 || x.settled(s, k) {
				n, out = len(out), append(out, x.holeIn(subscription, where))
			}
			at[where] = n
		}
		if n >= 0 {
			out[n].missing++
		}
	}
	return slices.DeleteFunc(out, func(h hole) bool { return h.silent() == 0 })
}

// withRelay says whether a publication may have been lost with the relay of one of the two,
// of which account judges.
func (x *topics) withRelay(s *history.Subscription, p *history.Publication) bool {
	return x.absent(s, p) || x.unsettled(s, p)
}

// holeIn is a hole there, of which is known what was told.
func (x *topics) holeIn(subscription int, where spot) hole {
	h := hole{spot: where, until: x.h.End}
	if where.before >= 0 {
		h.until = x.h.Deliveries[where.before].At
	}
	h.told = x.toldBetween(subscription, where.peer, x.h.Deliveries[where.after].At, h.until)
	return h
}

// streamOf is the stream that a publication has for a subscription, if that is to hear of
// each that it misses.
func (x *topics) streamOf(s *history.Subscription, publication int) (k stream, ok bool) {
	p := &x.h.Publications[publication]
	if p.Outcome != "published" || p.Lost || p.Network != s.Network || s.NoEcho && s.Node == p.Publisher || x.source[publication] < 0 || !x.fit(s.Pattern, p.Topic) {
		return k, false
	}
	word, _, _ := strings.Cut(p.Topic, ".")
	return stream{x.source[publication], p.Peer, word}, true
}

// around returns the deliveries before and after what is missing; ok is false if it was
// not published after one of them.
func (x *topics) around(got []int, publication int) (after, before int, ok bool) {
	p := &x.h.Publications[publication]
	sent := func(d int) *history.Publication {
		return &x.h.Publications[x.published[x.h.Deliveries[d].Publication]]
	}
	// They are in order, but for those that were published at the same time.
	n, _ := slices.BinarySearchFunc(got, p.Sent, func(d int, at time.Duration) int { return cmp.Compare(sent(d).Ended, at) })
	if n == 0 || n < len(got) && sent(got[n]).Sent < p.Ended {
		return 0, 0, false
	}
	if n == len(got) {
		return got[n-1], -1, true
	}
	return got[n-1], got[n], true
}

// toldBetween is how many messages of a stream a subscription was told of in a time; all
// of them, if it was told that nobody knows.
func (x *topics) toldBetween(subscription int, peer string, from, until time.Duration) (told uint64) {
	for i := range x.h.Gaps {
		g := &x.h.Gaps[i]
		if g.Subscription != subscription || g.At < from || g.At > until || g.Peer != "" && g.Peer != peer {
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

// silent is how many messages a subscription missed and was not told of.
func (x *topics) silent(subscription int) uint64 {
	var all, there uint64
	for _, n := range silences(x.account([]int{subscription})) {
		all += n
	}
	for _, h := range x.holes(subscription) {
		there += h.silent()
	}
	return max(all, there)
}

// checkHoles: what a subscription missed between two messages is told between the two.
func checkHoles(x *topics, d *violations) {
	for i := range x.h.Subscriptions {
		s := &x.h.Subscriptions[i]
		for _, h := range x.holes(i) {
			d.add(h.until, "%s: %d messages of %s on %s are missing in one spot, and %d were reported there",
				listening(s), h.missing, x.h.Nodes[h.life].Name, h.word, h.told)
		}
	}
}

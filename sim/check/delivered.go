// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// ledger is what became of the publications of one node for one subscription,
// or for one queue of subscriptions.
type ledger struct {
	due     uint64 // that had to come
	came    uint64 // of them
	spare   uint64 // that did not come, and had not to
	exact   uint64 // messages that were told as missing, exactly
	told    uint64 // and with those that were at most so many
	example string // a topic of something missing
}

// missing is how many did not come that had to.
func (l *ledger) missing() uint64 { return l.due - l.came }

// silent is how many of them were not told, either.
func (l *ledger) silent() uint64 { return l.missing() - min(l.missing(), l.told) }

// checkDelivered: delivered + reported = sent. A queue of subscriptions counts
// as one.
func checkDelivered(x *topics, d *docket) {
	for i := range x.h.Subscriptions {
		s := &x.h.Subscriptions[i]
		if s.Queue != "" || s.From < 0 {
			continue
		}
		audit(x, "subscription "+s.Name+" to "+s.Pattern+" on "+s.Node, x.account(i), d)
	}
	for _, q := range x.queueList() {
		audit(x, "queue "+q.name+" of "+q.pattern, x.accountQueue(q), d)
	}
}

// audit compares what is missing with what was told.
func audit(x *topics, who string, books map[string]*ledger, d *docket) {
	missing := silences(books)
	for _, peer := range slices.Sorted(maps.Keys(books)) {
		l := books[peer]
		if peer == "" {
			continue
		}
		if silent := missing[peer]; silent > 0 {
			d.add(x.h.End, "%s: of %d messages of %s %d came and %d were reported; %d are missing without a word, one on %s",
				who, l.due, x.lives.nameOf(peer), l.came, l.told, silent, l.example)
		}
		if most := l.missing() + l.spare; l.exact > most {
			d.add(x.h.End, "%s: %d messages of %s were reported as missing, and %d are", who, l.exact, x.lives.nameOf(peer), most)
		}
	}
}

// silences is how many messages of each publisher are missing without a word.
// Gaps that may be of several publishers make up for whichever needs it.
func silences(books map[string]*ledger) map[string]uint64 {
	out := make(map[string]uint64)
	var pool uint64
	if several := books[""]; several != nil {
		pool = several.told
	}
	for _, peer := range slices.Sorted(maps.Keys(books)) {
		silent := books[peer].silent()
		pooled := min(pool, silent)
		pool -= pooled
		if silent > pooled {
			out[peer] = silent - pooled
		}
	}
	return out
}

// account makes the ledgers of one subscription, by the publishers' peers.
func (x *topics) account(subscription int) map[string]*ledger {
	books := make(map[string]*ledger)
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		claim := x.due(subscription, i)
		if claim == never {
			continue
		}
		l := entry(books, p.Peer)
		came := x.has[pairing{subscription, i}] > 0
		switch {
		case claim == must && came:
			l.due, l.came = l.due+1, l.came+1
		case claim == must && x.excused(subscription, p):
			l.due, l.told = l.due+1, l.told+1
		case claim == must:
			l.due, l.example = l.due+1, cmp.Or(l.example, p.Topic+" at "+p.Sent.String())
		case !came && x.recent(subscription, i):
			l.spare++
		}
	}
	x.enter(books, subscription)
	return books
}

// enter adds what a subscription was told.
func (x *topics) enter(books map[string]*ledger, subscription int) {
	for peer, t := range x.told[subscription] {
		l := entry(books, peer)
		l.exact, l.told = l.exact+t.exact, l.told+t.all
	}
}

// queues lists the queues in order.
func (x *topics) queueList() []queue {
	return slices.SortedFunc(maps.Keys(x.queues), func(a, b queue) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.name, b.name))
	})
}

// accountQueue makes the ledgers of a queue: a publication is due if it is due
// to one of its subscriptions, and nothing had just happened to any of them:
// which one was to have it is not in a history.
func (x *topics) accountQueue(q queue) map[string]*ledger {
	books := make(map[string]*ledger)
	subscriptions := x.queues[q]
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		owed, came := never, false
		for _, s := range subscriptions {
			owed = max(owed, x.due(s, i))
			came = came || x.has[pairing{s, i}] > 0
		}
		if owed == never {
			continue
		}
		l := entry(books, p.Peer)
		switch {
		case owed == must && came:
			l.due, l.came = l.due+1, l.came+1
		case owed == must && !x.unsteady(subscriptions, i):
			l.due, l.example = l.due+1, cmp.Or(l.example, p.Topic+" at "+p.Sent.String())
		case !came:
			l.spare++
		}
	}
	for _, s := range subscriptions {
		x.enter(books, s)
	}
	return books
}

// unsteady says whether one of the subscriptions began, ended, or could not be
// reached when a publication was on its way.
func (x *topics) unsteady(subscriptions []int, publication int) bool {
	p := &x.h.Publications[publication]
	while := span{minus(p.Sent, x.rules.Known), plus(p.Ended, x.rules.Deliver)}
	for _, i := range subscriptions {
		s := &x.h.Subscriptions[i]
		for _, at := range []time.Duration{s.From, s.Leaving, s.Until} {
			if at > x.h.Start && at >= while.from && (at <= while.until || s.Slow) {
				return true
			}
		}
		if x.calm.pair(p.Publisher, s.Node, while) {
			return true
		}
	}
	return false
}

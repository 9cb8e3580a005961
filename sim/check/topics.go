// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// topics knows what was published and subscribed to, and what came of it. It
// never changes after newTopics. Publications and subscriptions are named by
// their indexes in the history.
type topics struct {
	h     *history.History
	rules *Rules
	lives *lives
	calm  *disturbance
	lent  lentTopics

	published map[uint64]int     // id → the publication
	source    []int              // publication → the life that published it
	got       [][]int            // subscription → its deliveries, in order
	told      []map[string]*told // subscription → publisher's peer ("" = several) → gaps
	unknown   [][]time.Duration  // subscription → when it was told that nobody knows how many are missing
	strays    []int              // deliveries of what nobody published, or without a subscription
	queues    map[queue][]int    // its subscriptions
	fits      map[[2]string]bool // pattern, topic
	has       map[pairing]int    // how often a subscription got a publication
}

// told is what a subscription was told of missing messages of one publisher.
type told struct {
	exact, all uint64
}

// queue is a named group of subscriptions to one pattern.
type queue struct {
	pattern, name string
	network       string // where those of other networks are apart, else ""
}

type pairing struct{ subscription, publication int }

func newTopics(b *borders, r *Rules) *topics {
	l, c, h := b.lives, b.calm, b.h
	x := &topics{
		h: h, rules: r, lives: l, calm: c, lent: lentTopics{b},
		published: make(map[uint64]int, len(h.Publications)), got: make([][]int, len(h.Subscriptions)),
		told: make([]map[string]*told, len(h.Subscriptions)), unknown: make([][]time.Duration, len(h.Subscriptions)), queues: make(map[queue][]int),
		fits: make(map[[2]string]bool), has: make(map[pairing]int, len(h.Deliveries)),
	}
	for i := range h.Publications {
		p := &h.Publications[i]
		x.published[p.ID] = i
		x.source = append(x.source, l.at(p.Publisher, p.Sent))
	}
	for i := range h.Subscriptions {
		s := &h.Subscriptions[i]
		x.told[i] = make(map[string]*told)
		if s.Queue != "" && s.From >= 0 {
			q := queue{s.Pattern, s.Queue, x.lent.apart(s)}
			x.queues[q] = append(x.queues[q], i)
		}
	}
	for i := range h.Deliveries {
		d := &h.Deliveries[i]
		p, ok := x.published[d.Publication]
		if !ok || d.Subscription < 0 || d.Subscription >= len(h.Subscriptions) {
			x.strays = append(x.strays, i)
			continue
		}
		x.got[d.Subscription] = append(x.got[d.Subscription], i)
		x.has[pairing{d.Subscription, p}]++
	}
	for i := range h.Gaps {
		x.tell(&h.Gaps[i])
	}
	return x
}

func (x *topics) tell(g *history.Gap) {
	if g.Subscription < 0 || g.Subscription >= len(x.told) {
		return
	}
	if g.Missed == 0 && !g.Exact {
		x.unknown[g.Subscription] = append(x.unknown[g.Subscription], g.At)
		return
	}
	publisher, _ := split(g.Peer) // of another network it has that behind it
	t := entry(x.told[g.Subscription], publisher)
	t.all += g.Missed
	if g.Exact {
		t.exact += g.Missed
	}
}

// matches says whether a publication is on a topic that a subscription asked for, or
// comes to one across a border.
func (x *topics) matches(s *history.Subscription, p *history.Publication) bool {
	if s.Network != p.Network {
		return slices.ContainsFunc(x.lent.crossings(s, p), func(c *history.Crossing) bool { return x.fit(s.Pattern, c.There(p.Topic)) })
	}
	return x.fit(s.Pattern, p.Topic)
}

// fit says whether a topic fits a pattern.
func (x *topics) fit(pattern, topic string) bool {
	key := [2]string{pattern, topic}
	fits, known := x.fits[key]
	if !known {
		fits = history.Fits(pattern, topic)
		x.fits[key] = fits
	}
	return fits
}

// claim is what a subscription may say to a publication.
type claim int

const (
	never claim = iota // it is not for it
	may                // it came at a time, or from somebody, of which nothing can be demanded
	must
)

// dying is how long before a publisher's end nothing of what it published can
// be demanded: nobody is left who could tell what is missing.
const dying = 10 * time.Second

// due says whether a publication belongs to a subscription.
func (x *topics) due(subscription, publication int) claim {
	s, p := &x.h.Subscriptions[subscription], &x.h.Publications[publication]
	switch {
	case s.Asked < 0 || !x.matches(s, p) || s.NoEcho && s.Node == p.Publisher:
		return never
	case s.From < 0 || p.Outcome != "published" || p.Lost || x.calm.stranger(s.Node, plus(p.Ended, x.rules.Deliver)):
		return may
	case p.Sent < plus(s.From, x.rules.Known) && s.From > x.h.Start, plus(p.Ended, x.rules.Deliver) > x.deaf(s):
		return may
	}
	life := x.source[publication]
	if life < 0 || x.lives.died(life) && p.Sent > minus(x.h.Nodes[life].Until, dying) {
		return may
	}
	if x.cutShort(life, s.Node, p.Sent) {
		return may
	}
	if s.Network != p.Network {
		if !x.lent.linked(s, p, x.rules) {
			return may
		}
	} else if there := x.lives.at(s.Node, s.Asked); !x.lives.acquainted(life, there, "") || x.calm.met(life, there, p.Sent) > minus(p.Sent, x.rules.Known) {
		return may
	}
	while := span{p.Sent, plus(p.Ended, 1)}
	disturbed := x.calm.node(p.Publisher, while) || x.calm.grace[s.Node].touches(while) || x.calm.linkHit(p.Publisher, s.Node, true, while)
	if s.Network != p.Network {
		disturbed = disturbed && (x.lent.disturbed(p.Publisher, while) || x.lent.disturbed(s.Node, while))
	}
	if disturbed || x.unsettled(s, p) {
		return may
	}
	return must
}

// cutShort says whether the life of a publisher that shut down ended soon after
// a publication, while a fault stood between it and a node: what could not leave
// until it had to close is lost with it, as if it had died.
func (x *topics) cutShort(life int, node string, sent time.Duration) bool {
	if life < 0 {
		return false
	}
	n := &x.h.Nodes[life]
	return n.Until >= 0 && sent > minus(n.Until, dying) && x.calm.standing(n.Name, node, span{sent, plus(n.Until, 1)})
}

// deaf is when a subscription ended. What still waits for a slow one then is
// lost, and may be anything.
func (x *topics) deaf(s *history.Subscription) time.Duration {
	at := x.h.End
	for _, end := range []time.Duration{s.Leaving, s.Until} {
		if end >= 0 && end < at {
			at = end
			if s.Slow {
				at = 0
			}
		}
	}
	return at
}

// recent says whether a publication that is not due can have been missed by a
// subscription and rightly told as missing.
func (x *topics) recent(subscription, publication int) bool {
	return plus(x.h.Publications[publication].Ended, x.rules.Known) >= x.h.Subscriptions[subscription].Asked
}

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
func checkDelivered(x *topics, d *violations) {
	for i := range x.h.Subscriptions {
		s := &x.h.Subscriptions[i]
		if s.Queue != "" || s.From < 0 {
			continue
		}
		audit(x, listening(s), x.account([]int{i}), d)
	}
	for _, q := range x.queueList() {
		audit(x, "queue "+q.name+" of "+q.pattern, x.account(x.queues[q]), d)
	}
}

// listening names a subscription for people.
func listening(s *history.Subscription) string {
	return "subscription " + s.Name + " to " + s.Pattern + " on " + s.Node
}

// audit compares what is missing with what was told.
func audit(x *topics, who string, books map[string]*ledger, d *violations) {
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

// alone says whether subscriptions are one without a queue.
func (x *topics) alone(subscriptions []int) bool {
	return x.h.Subscriptions[subscriptions[0]].Queue == ""
}

// owed is what a publication is to a subscription, or to a queue of them, and
// whether it came. To a queue it is due if it is due to one of them, and nothing
// had just happened to any of them: which one was to have it is not in a history.
func (x *topics) owed(subscriptions []int, publication int) (owed claim, came bool) {
	for _, s := range subscriptions {
		owed = max(owed, x.due(s, publication))
		came = came || x.has[pairing{s, publication}] > 0
	}
	if owed == must && !came && !x.alone(subscriptions) && x.unsteady(subscriptions, publication) {
		owed = may
	}
	return owed, came
}

// account makes the ledgers of a subscription, or of a queue of them, by the
// publishers' peers.
func (x *topics) account(subscriptions []int) map[string]*ledger {
	books, first, alone := make(map[string]*ledger), subscriptions[0], x.alone(subscriptions)
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		owed, came := x.owed(subscriptions, i)
		if owed == never {
			continue
		}
		l := entry(books, p.Peer)
		switch {
		case owed == must && came:
			l.due, l.came = l.due+1, l.came+1
		case owed == must && alone && x.excused(first, p):
			l.due, l.told = l.due+1, l.told+1
		case owed == must:
			l.due, l.example = l.due+1, cmp.Or(l.example, p.Topic+" at "+p.Sent.String())
		case !came && (!alone || x.recent(first, i)):
			l.spare++
		}
	}
	for _, s := range subscriptions {
		x.enter(books, s)
	}
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
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.name, b.name), cmp.Compare(a.network, b.network))
	})
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
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
type queue struct{ pattern, name string }

type pairing struct{ subscription, publication int }

func newTopics(l *lives, c *disturbance, r *Rules) *topics {
	h := l.h
	x := &topics{
		h: h, rules: r, lives: l, calm: c,
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
			q := queue{s.Pattern, s.Queue}
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
	t := entry(x.told[g.Subscription], g.Peer)
	t.all += g.Missed
	if g.Exact {
		t.exact += g.Missed
	}
}

// matches says whether a topic fits a pattern.
func (x *topics) matches(pattern, topic string) bool {
	key := [2]string{pattern, topic}
	fits, known := x.fits[key]
	if !known {
		fits = fitting(strings.Split(pattern, "."), strings.Split(topic, "."))
		x.fits[key] = fits
	}
	return fits
}

func fitting(pattern, topic []string) bool {
	for i, word := range pattern {
		switch {
		case word == ">":
			return len(topic) > i
		case i >= len(topic) || word != "*" && word != topic[i]:
			return false
		}
	}
	return len(pattern) == len(topic)
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
	case s.Asked < 0 || !x.matches(s.Pattern, p.Topic) || s.NoEcho && s.Node == p.Publisher:
		return never
	case s.From < 0 || p.Outcome != "published" || p.Lost:
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
	if !x.lives.acquainted(life, x.lives.at(s.Node, s.Asked), "") {
		return may
	}
	while := span{p.Sent, plus(p.Ended, 1)}
	if x.calm.node(p.Publisher, while) || x.calm.grace[s.Node].touches(while) || x.unsettled(s, p) {
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

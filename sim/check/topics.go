// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// topics are the indexes of what was published and subscribed to. They never
// change after newTopics.
type topics struct {
	published map[uint64]int     // id → the publication
	source    []int              // publication → the life that published it
	got       [][]int            // subscription → its deliveries, in order
	told      []map[string]*told // subscription → publisher's peer ("" = several) → gaps
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

func newTopics(f *facts) *topics {
	h := f.h
	x := &topics{
		published: make(map[uint64]int, len(h.Publications)), got: make([][]int, len(h.Subscriptions)),
		told: make([]map[string]*told, len(h.Subscriptions)), queues: make(map[queue][]int),
		fits: make(map[[2]string]bool), has: make(map[pairing]int, len(h.Deliveries)),
	}
	for i := range h.Publications {
		p := &h.Publications[i]
		x.published[p.ID] = i
		x.source = append(x.source, f.life(p.Publisher, p.Sent))
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
	t := x.told[g.Subscription][g.Peer]
	if t == nil {
		t = &told{}
		x.told[g.Subscription][g.Peer] = t
	}
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
func (f *facts) due(subscription, publication int) claim {
	s, p := &f.h.Subscriptions[subscription], &f.h.Publications[publication]
	switch {
	case s.Asked < 0 || !f.topics.matches(s.Pattern, p.Topic) || s.NoEcho && s.Peer == p.Peer:
		return never
	case s.From < 0 || p.Outcome != "published" || p.Lost:
		return may
	case p.Sent < plus(s.From, f.rules.Known) && s.From > f.h.Start, plus(p.Ended, f.rules.Deliver) > f.deaf(s):
		return may
	}
	life := f.topics.source[publication]
	if life < 0 || f.died(life) && p.Sent > minus(f.h.Nodes[life].Until, dying) {
		return may
	}
	if f.cutShort(life, s.Node, p.Sent) {
		return may
	}
	if !f.acquainted(life, f.life(s.Node, s.Asked), "") {
		return may
	}
	if f.calm.pair(p.Publisher, s.Node, span{p.Sent, plus(p.Ended, 1)}) {
		return may
	}
	return must
}

// cutShort says whether the life of a publisher that shut down ended soon after
// a publication, while a fault stood between it and a node: what could not leave
// until it had to close is lost with it, as if it had died.
func (f *facts) cutShort(life int, node string, sent time.Duration) bool {
	if life < 0 {
		return false
	}
	n := &f.h.Nodes[life]
	return n.Until >= 0 && sent > minus(n.Until, dying) && f.calm.standing(n.Name, node, span{sent, plus(n.Until, 1)})
}

// deaf is when a subscription ended. What still waits for a slow one then is
// lost, and may be anything.
func (f *facts) deaf(s *history.Subscription) time.Duration {
	at := f.h.End
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
func (f *facts) recent(subscription, publication int) bool {
	return plus(f.h.Publications[publication].Ended, f.rules.Known) >= f.h.Subscriptions[subscription].Asked
}

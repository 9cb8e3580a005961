// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// lentTopics knows which topics cross borders.
type lentTopics struct{ *borders }

// crossings are those that bring a publication into the network of a subscription.
func (t lentTopics) crossings(s *history.Subscription, p *history.Publication) (out []*history.Crossing) {
	for i := range t.h.Crossings {
		if c := &t.h.Crossings[i]; c.From == p.Network && c.To == s.Network && c.There(p.Topic) != "" {
			out = append(out, c)
		}
	}
	return out
}

// listens is how long gateways may take to listen to what somebody listens to in
// another network, besides the time that everybody has to know.
const listens = time.Second

// linked says whether a gateway brought a publication into the network of a subscription:
// one that had known of it for long enough, and lived and was undisturbed until it
// could have come. While there is one, what others lose is told.
func (t lentTopics) linked(s *history.Subscription, p *history.Publication, r *Rules) bool {
	return t.carried(s, p, r, func(c *history.Crossing, while span) bool {
		return !t.calm.node(c.Gateway, while) &&
			!t.calm.linkHit(p.Publisher, c.Gateway, true, while) && !t.calm.linkHit(c.Gateway, s.Node, true, while)
	})
}

// carried says whether a gateway for which also holds had known of a subscription for long
// enough, and lived until a publication could have come.
func (t lentTopics) carried(s *history.Subscription, p *history.Publication, r *Rules, also func(*history.Crossing, span) bool) bool {
	since := minus(p.Sent, plus(r.Known, listens))
	while := span{since, plus(p.Ended, r.Deliver)}
	return s.From <= since && slices.ContainsFunc(t.crossings(s, p), func(c *history.Crossing) bool {
		return t.lived(c.Gateway, while) && also(c, while)
	})
}

// apart is the network of a subscription, if those of its queue elsewhere have each
// message, too; "" if it is one queue in all of them, as no message of one comes to
// another under the same name, or comes to both as to one.
func (t lentTopics) apart(s *history.Subscription) string {
	if word, _, _ := strings.Cut(s.Pattern, "."); word == "*" || word == ">" {
		return s.Network
	}
	return ""
}

// disturbed says whether a fault hit a node, or had been over for less than the
// convergence bound, other than one that parted it from gateways only: while another
// gateway is there, what those lose is told.
func (t lentTopics) disturbed(node string, s span) bool {
	for _, f := range t.h.Faults {
		if Undoes(f) || !disturbs(f.Do) || t.fromGateways(f, node) || !slices.Contains(t.calm.hit(f), node) {
			continue
		}
		if (spans{{f.At, plus(Over(t.h, f), t.calm.rules.Converge)}}).touches(s) {
			return true
		}
	}
	return t.calm.orphan[node].touches(s)
}

// fromGateways says whether a fault is between a node and gateways.
func (t lentTopics) fromGateways(f history.Fault, node string) bool {
	for i, side := range f.Between {
		if slices.Contains(side, node) {
			return !slices.ContainsFunc(f.Between[len(f.Between)-1-i], func(other string) bool { return !isGateway(t.borders, other) })
		}
	}
	return false
}

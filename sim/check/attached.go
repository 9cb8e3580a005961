// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// carrier is the node that speaks for one: itself, or the relay of a client.
func (l *lives) carrier(node string) string {
	if lives := l.byName[node]; len(lives) > 0 && l.h.Nodes[lives[0]].Relay != "" {
		return l.h.Nodes[lives[0]].Relay
	}
	return node
}

// withClients adds the clients of the relays among some nodes.
func (l *lives) withClients(nodes []string) []string {
	all := slices.Clone(nodes)
	for _, node := range nodes {
		all = append(all, l.clients[node]...)
	}
	return all
}

// relay is the life of a client's relay at a time; -1 for a node.
func (l *lives) relay(node string, at time.Duration) int {
	if relay := l.carrier(node); relay != node {
		return l.at(relay, at)
	}
	return -1
}

// gone is when a relay's life began to end: -1 = it did not, or there is none.
func (l *lives) gone(life int) time.Duration {
	switch {
	case life < 0 || l.h.Nodes[life].Until < 0:
		return -1
	case l.h.Nodes[life].Leaving > 0:
		return l.h.Nodes[life].Leaving
	}
	return l.h.Nodes[life].Until
}

// forsaken says whether a client's relay did not come back after a time: nobody
// is left who could tell it anything.
func (l *lives) forsaken(node string, after time.Duration) bool {
	all := l.byName[l.carrier(node)]
	if len(all) == 0 || l.carrier(node) == node {
		return false
	}
	last := &l.h.Nodes[all[len(all)-1]]
	return last.Until >= 0 && (last.From <= after || last.Until < plus(last.From, reattach))
}

// reattach is how long a client may take to be back at its relay.
const reattach = 2 * time.Second

// sameSeat says whether a member is the one of a registration: by its id, or, of a
// client, because it is the same one with the id that it had in another life of
// its relay.
func (m *registrations) sameSeat(member string, registration int) bool {
	t := &m.h.Tenures[registration]
	if t.Member == member {
		return true
	}
	other, known := m.named[member]
	return known && m.lives.carrier(t.Node) != t.Node && m.h.Tenures[other].Node == t.Node && m.h.Tenures[other].Cluster == t.Cluster
}

// absent says whether the relay of a subscription was away when something was
// published, or went away before it had to have come: then it may be missing, but
// the subscription is told of a gap when the relay is back.
func (x *topics) absent(s *history.Subscription, p *history.Publication) bool {
	gone := x.lives.gone(x.lives.relay(s.Node, p.Sent))
	return gone >= 0 && gone < plus(p.Ended, x.rules.Deliver)
}

// excused says whether a subscription that its relay had left was told, since
// then, that nobody knows how many it has missed.
func (x *topics) excused(subscription int, p *history.Publication) bool {
	s := &x.h.Subscriptions[subscription]
	return x.absent(s, p) && slices.ContainsFunc(x.unknown[subscription], func(at time.Duration) bool {
		return at >= x.lives.gone(x.lives.relay(s.Node, p.Sent))
	})
}

// unsettled says whether relays are why nothing can be demanded of a publication:
// the publisher's ended soon after it, the subscription's had just come back, so
// that not everybody knew who listens there, or never did.
func (x *topics) unsettled(s *history.Subscription, p *history.Publication) bool {
	if life := x.lives.relay(p.Publisher, p.Sent); life >= 0 && x.lives.died(life) && p.Sent > minus(x.h.Nodes[life].Until, dying) {
		return true
	}
	life := x.lives.relay(s.Node, p.Sent)
	if life < 0 {
		return false
	}
	back := x.h.Nodes[life].From
	return back > x.h.Start && p.Sent < plus(back, plus(x.rules.Known, reattach)) || x.absent(s, p) && x.lives.forsaken(s.Node, p.Sent)
}

// orphans adds when a fault left clients without their relay, and the convergence
// bound after it: what they see of others and others of them proves nothing then.
func (d *disturbance) orphans(fault *history.Fault, out map[string][]span) {
	if !removes(fault.Do) {
		return
	}
	back := fault.Until
	if back < fault.At {
		back = forever
	}
	for _, relay := range fault.Nodes {
		for _, client := range d.lives.clients[relay] {
			out[client] = append(out[client], span{fault.At, plus(back, d.rules.Converge)})
		}
	}
}

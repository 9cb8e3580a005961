// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// lives knows which life of a node was when, and what it held. It never changes
// after newLives. A life is named by its index in History.Nodes.
type lives struct {
	h       *history.History
	byName  map[string][]int    // node → its lives, in order
	clients map[string][]string // relay → its clients, by name
}

func newLives(h *history.History) *lives {
	l := &lives{h: h, byName: make(map[string][]int), clients: make(map[string][]string)}
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if n.Relay != "" && len(l.byName[n.Name]) == 0 {
			l.clients[n.Relay] = append(l.clients[n.Relay], n.Name)
		}
		l.byName[n.Name] = append(l.byName[n.Name], i)
	}
	for _, list := range l.clients {
		slices.Sort(list)
	}
	for _, list := range l.byName {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(h.Nodes[a].From, h.Nodes[b].From) })
	}
	return l
}

// first is a node's first life; one without a name if there is no such node.
func (l *lives) first(node string) history.Node {
	if lives := l.byName[node]; len(lives) > 0 {
		return l.h.Nodes[lives[0]]
	}
	return history.Node{}
}

// at is the node's life at that time: the last one that had begun, or else its
// first; -1 if there is no such node.
func (l *lives) at(node string, at time.Duration) int {
	list := l.byName[node]
	if len(list) == 0 {
		return -1
	}
	i, _ := slices.BinarySearchFunc(list, at, func(life int, at time.Duration) int {
		if l.h.Nodes[life].From > at {
			return 1
		}
		return -1
	})
	return list[max(i-1, 0)]
}

// during is when a life was, at most until the run's end.
func (l *lives) during(life int) span {
	n := &l.h.Nodes[life]
	if n.Until < 0 {
		return span{n.From, l.h.End}
	}
	return span{n.From, min(n.Until, l.h.End)}
}

// peerOf is the peer id of a node's life at that time.
func (l *lives) peerOf(node string, at time.Duration) string {
	if life := l.at(node, at); life >= 0 {
		return l.h.Nodes[life].Peer
	}
	return ""
}

// late says whether a life began after the network stood.
func (l *lives) late(life int) bool { return life >= 0 && l.h.Nodes[life].From > l.h.Start }

// died says whether a life ended without a farewell.
func (l *lives) died(life int) bool {
	n := &l.h.Nodes[life]
	return n.Until >= 0 && n.How != "stopped"
}

// acquainted says whether two lives of nodes hold the same keys for a cluster.
func (l *lives) acquainted(a, b int, cluster string) bool {
	if a < 0 || b < 0 {
		return false
	}
	x, y := &l.h.Nodes[a], &l.h.Nodes[b]
	return x.Key == y.Key && x.Keys[cluster] == y.Keys[cluster]
}

// nameOf is the node of a peer.
func (l *lives) nameOf(peer string) string {
	for i := range l.h.Nodes {
		if l.h.Nodes[i].Peer == peer {
			return l.h.Nodes[i].Name
		}
	}
	return peer
}

// registrations knows who was a member of which cluster, and when. It never
// changes after newRegistrations. A registration is named by its index in
// History.Tenures.
type registrations struct {
	h      *history.History
	lives  *lives
	of     map[string][]int         // cluster → those that were acknowledged
	byNode map[string][]int         // node → its registrations
	named  map[string]int           // id of a member → its registration
	seen   map[string]time.Duration // id of a member → when somebody else showed it as live first
}

func newRegistrations(l *lives) *registrations {
	h := l.h
	m := &registrations{
		h: h, lives: l, of: make(map[string][]int), byNode: make(map[string][]int), named: make(map[string]int), seen: make(map[string]time.Duration),
	}
	for i := range h.Tenures {
		t := &h.Tenures[i]
		m.byNode[t.Node] = append(m.byNode[t.Node], i)
		if t.From >= 0 {
			m.of[t.Cluster] = append(m.of[t.Cluster], i)
			m.named[t.Member] = i
		}
	}
	for _, v := range h.Views {
		if first, seen := m.seen[v.Member]; v.State == "live" && v.Peer != l.peerOf(v.Node, v.At) && (!seen || v.At < first) {
			m.seen[v.Member] = v.At
		}
	}
	return m
}

// known says whether a caller's life and a tenure belong to the same cluster.
func (m *registrations) known(life, tenure int) bool {
	t := &m.h.Tenures[tenure]
	return m.lives.acquainted(life, m.lives.at(t.Node, t.Asked), t.Cluster)
}

// lostNode says whether the node of a tenure, or its relay, was lost, not stopped,
// after a time: what it had accepted is lost with it.
func (m *registrations) lostNode(tenure int, after time.Duration) bool {
	t := &m.h.Tenures[tenure]
	lost := func(life int) bool { return life >= 0 && m.lives.died(life) && m.h.Nodes[life].Until >= after }
	return lost(m.lives.at(t.Node, t.Asked)) || lost(m.lives.relay(t.Node, after))
}

// seat is the node of a member, or its id if it has none.
func (m *registrations) seat(member string) string {
	if tenure, ok := m.named[member]; ok {
		return m.h.Tenures[tenure].Node
	}
	return "member " + member
}

// serving counts the registrations of a node that could have work then, or just
// before: a sample takes its figures one after the other.
func (m *registrations) serving(node string, at time.Duration) int {
	n := 0
	for _, name := range m.lives.withClients([]string{node}) {
		for _, i := range m.byNode[name] {
			if serves(&m.h.Tenures[i], at, time.Second) {
				n++
			}
		}
	}
	return n
}

// truth is when a member was live: acknowledged, and not yet leaving or lost.
func truth(t *history.Tenure) span {
	if t.From < 0 {
		return span{}
	}
	return span{t.From, death(t)}
}

// death is when a member ceased to be live.
func death(t *history.Tenure) time.Duration {
	switch {
	case t.Leaving >= 0 && t.Until >= 0:
		return min(t.Leaving, t.Until)
	case t.Leaving >= 0:
		return t.Leaving
	case t.Until >= 0:
		return t.Until
	default:
		return forever
	}
}

// carrier is the node that speaks for one: itself, or the relay of a client.
func (l *lives) carrier(node string) string {
	return cmp.Or(l.first(node).Relay, node)
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
func (d *disturbance) orphans(fault history.Fault, out map[string][]span) {
	if !history.Removes(fault.Do) {
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

// disturbance is when faults kept nodes from seeing others and from being seen. A
// fault that hits a quarter of a node's links disturbs the node, because which nodes
// hold the leases that it depends on is not in a history; one that hits fewer
// disturbs the pairs only.
type disturbance struct {
	*knowledge
	h     *history.History
	rules *Rules
	lives *lives
	links *linkFaults

	bare   map[string]spans // node → while a fault stood
	grace  map[string]spans // node → and for the convergence bound after it
	orphan map[string]spans // client → while its relay was away, and for that bound after it
	skew   map[string]spans // node → while its clock was wrong

	endedBy []int         // registration → the fault that ended it, or -1
	last    time.Duration // when the last fault was over, or the last node was started; at least Start
	general time.Duration // the same, without faults that disturb pairs or some nodes only
}

func newDisturbance(m *registrations, r *Rules) *disturbance {
	d := &disturbance{knowledge: newKnowledge(m.lives, r), h: m.h, rules: r, lives: m.lives, links: newLinkFaults(m.lives, r)}
	d.blameFaults(m)
	bare, grace, skew, orphan := make(map[string][]span), make(map[string][]span), make(map[string][]span), make(map[string][]span)
	for _, fault := range d.h.Faults {
		if Undoes(fault) {
			continue
		}
		over := Over(d.h, fault)
		if fault.Do == "skew" {
			for _, node := range fault.Nodes {
				skew[node] = append(skew[node], span{fault.At, max(over, d.h.Safety)})
			}
		}
		d.orphans(fault, orphan)
		if !disturbs(fault.Do) || ofLinks(fault) {
			continue
		}
		for _, node := range d.hit(fault) {
			bare[node] = append(bare[node], span{fault.At, over})
		}
	}
	for node, parted := range d.links.whole {
		for _, name := range d.lives.withClients([]string{node}) {
			bare[name] = append(bare[name], parted...)
		}
	}
	for node, list := range bare {
		for _, s := range list {
			grace[node] = append(grace[node], span{s.from, plus(s.until, d.rules.Converge)})
		}
	}
	d.bare, d.grace, d.skew, d.orphan = eachMerged(bare), eachMerged(grace), eachMerged(skew), eachMerged(orphan)
	return d
}

func eachMerged(lists map[string][]span) map[string]spans {
	out := make(map[string]spans, len(lists))
	for node, list := range lists {
		out[node] = merged(list)
	}
	return out
}

// hit lists the nodes that a fault hits: everybody, if it does not say.
func (d *disturbance) hit(fault history.Fault) []string {
	nodes := d.lives.withClients(slices.Concat(fault.Nodes, slices.Concat(fault.Between...)))
	if len(nodes) == 0 {
		for name := range d.lives.byName {
			nodes = append(nodes, name)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// pair says whether one of two nodes, or the link between them, was disturbed at any
// time in s, or a disturbance of theirs had been over for less than the convergence
// bound.
func (d *disturbance) pair(a, b string, s span) bool {
	return d.node(a, s) || d.node(b, s) || d.linkHit(a, b, true, s)
}

// linkHit says whether faults hit the link between two nodes at any time in s.
func (d *disturbance) linkHit(a, b string, felt bool, s span) bool {
	return slices.ContainsFunc(d.links.between(a, b, felt, nil), func(hit span) bool { return spans{hit}.touches(s) })
}

// lastOf is when the last fault was over that can have hit two nodes or the link between
// them.
func (d *disturbance) lastOf(a, b string) time.Duration {
	last := d.general
	for _, s := range slices.Concat(d.bare[a], d.bare[b], d.links.between(a, b, false, nil)) {
		last = max(last, s.until)
	}
	return last
}

// node is pair for one.
func (d *disturbance) node(a string, s span) bool {
	return d.grace[a].touches(s) || d.orphan[a].touches(s)
}

// standing says whether a fault of one of two nodes stood at any time in s.
func (d *disturbance) standing(a, b string, s span) bool {
	return d.bare[a].touches(s) || d.bare[b].touches(s) || d.linkHit(a, b, false, s)
}

// excused is how much of s an observer of another node that is disturbed is not held to:
// what is left is appended to out. Without another node it is about nobody's links.
func (d *disturbance) excused(node, other string, s span, out []span) []span {
	pair := merged(d.links.between(node, other, true, nil))
	for _, rest := range d.grace[node].cut(s, nil) {
		for _, left := range d.orphan[node].cut(rest, nil) {
			out = pair.cut(left, out)
		}
	}
	return out
}

// quiet says whether no fault began before t that a node can have felt: one that
// hit few of its links is none.
func (d *disturbance) quiet(node string, t time.Duration) bool {
	return !d.bare[node].touches(span{0, plus(t, 1)}) && !slices.ContainsFunc(d.h.Faults, func(f history.Fault) bool {
		return f.At <= t && !Undoes(f) && !(ofLinks(f) && disturbs(f.Do))
	})
}

// blameFaults finds the last fault, and which registrations faults ended.
func (d *disturbance) blameFaults(m *registrations) {
	d.endedBy = make([]int, len(d.h.Tenures))
	for i := range d.endedBy {
		d.endedBy[i] = -1
	}
	d.last = d.h.Start
	for i := range d.h.Nodes {
		d.last = max(d.last, d.h.Nodes[i].From)
	}
	d.general = d.last
	for i, fault := range d.h.Faults {
		// What undoes a fault is that fault's end; alone, such as the heal before
		// the liveness phase, it changes nothing.
		if !Undoes(fault) {
			d.last = max(d.last, fault.At, Over(d.h, fault))
			if !ofLinks(fault) || !disturbs(fault.Do) {
				d.general = max(d.general, fault.At, Over(d.h, fault))
			}
		}
		if history.Removes(fault.Do) {
			for _, node := range d.lives.withClients(fault.Nodes) {
				d.blame(m, i, node)
			}
		}
	}
}

// blame notes which registrations of the node a fault ended: the last such
// fault before it counts.
func (d *disturbance) blame(m *registrations, fault int, node string) {
	at := d.h.Faults[fault].At
	for _, i := range m.byNode[node] {
		t := &d.h.Tenures[i]
		if t.Leaving < 0 || at < t.Asked || at > plus(t.Leaving, time.Second) {
			continue
		}
		if d.endedBy[i] < 0 || d.h.Faults[d.endedBy[i]].At <= at {
			d.endedBy[i] = fault
		}
	}
}

// latest is when a node must be done with something that it began, if it is awake.
func (d *disturbance) latest(node string, began, deadline time.Duration) time.Duration {
	return plus(deadline, d.slack(node, span{began, deadline}, d.rules.Outcome))
}

// slack is how much time a node has for something of which its clock measures s: one
// percent of that more if its clock is wrong.
func (d *disturbance) slack(node string, s span, late time.Duration) time.Duration {
	if d.skewed(node, s) {
		late = plus(late, s.length()/100)
	}
	return late
}

// skewed says whether the node's clock may have been wrong in s.
func (d *disturbance) skewed(node string, s span) bool {
	return d.skew[node].touches(s)
}

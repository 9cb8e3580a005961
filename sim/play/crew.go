// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// crew is the nodes of a scenario and the lives that they lead.
type crew struct {
	p         *player
	nodes     []*crewNode // in the scenario's order; immutable
	by        map[string]*crewNode
	safe      *safe
	authority *authority
}

// crewNode is a node that may live several times.
type crewNode struct {
	// Immutable.
	name          string
	start         time.Duration
	spec          NodeSpec
	relay         *crewNode          // that it is a client of; nil = it is a node
	network       string             // "" = there is only one
	key           string             // label of its network key, which has the network before it
	idle          bool               // its certificate lets it do nothing: what it sees is not judged
	ends          time.Duration      // of its certificate, from the scenario's beginning; 0 = never
	keys          map[string]string  // cluster to label of its explicit key
	jobs          []scenario.Cluster // that it serves
	subscriptions []int              // that it makes: indexes into the scenario's

	mu     sync.Mutex
	read   files // guarded by mu; newer than spec
	gone   bool  // guarded by mu; it is banned, or has not got the newest key
	life   *life // guarded by mu; nil while it is not alive
	factor int   // guarded by mu; of its handlers' work
	busy   bool  // guarded by mu; starts or stops
}

// life is a node from a start to an end.
type life struct {
	Participant
	index     int         // in the history's nodes
	posts     []*post     // guarded by crewNode.mu
	listeners []*listener // guarded by crewNode.mu
}

func newCrew(p *player) (*crew, error) {
	c := &crew{p: p, by: make(map[string]*crewNode)}
	c.safe = &safe{crew: c, keys: make(map[lock][]security.KeyVersion)}
	for _, g := range p.scenario.Nodes {
		file, err := network(p.scenario.Seed, g.Network, g.Key)
		if err != nil {
			return nil, err
		}
		for i, name := range g.Names() {
			n := &crewNode{
				name: name, start: g.Start.D() + time.Duration(i)*g.Every.D(), network: g.Network, key: keyLabel(g), factor: 1,
				spec: NodeSpec{Name: name, Zone: g.Zone, Network: file, Near: g.Near, Prefix: g.Prefix, Policy: g.Policy},
			}
			if relay := p.index.Relay(name); relay != "" {
				n.spec.Relay = relay
				if g.Token != "" {
					n.spec.Tokens = []string{g.Token}
				}
			} else {
				n.spec.Seeds = c.seeds(g.Network) // also those whose key differs, and who will be refused
				if len(g.Seeds) > 0 {
					if n.spec.Seeds, err = p.index.Select(g.Seeds...); err != nil {
						return nil, err
					}
				}
			}
			c.nodes, c.by[name] = append(c.nodes, n), n
		}
	}
	for _, n := range c.nodes {
		if n.relay = c.by[n.spec.Relay]; n.relay != nil {
			n.key, n.network, n.spec.Zone, n.relay.spec.Relays = n.relay.key, n.relay.network, n.relay.spec.Zone, true
			admit(n.relay, n.spec.Tokens)
		}
	}
	if err := c.gateways(); err != nil {
		return nil, err
	}
	c.turn()
	if err := issue(c); err != nil {
		return nil, err
	}
	return c, c.assign()
}

// turn marks the nodes that some attack of the timeline makes adversaries.
func (c *crew) turn() {
	for _, a := range c.p.scenario.Timeline {
		if a.Do != "attack" {
			continue
		}
		for _, name := range a.Nodes {
			c.by[name].spec.Adversary = &Adversary{Acted: func(what string, count int) { c.p.acted(name, what, count) }}
		}
	}
}

// assign gives nodes their clusters and explicit keys.
func (c *crew) assign() error {
	for _, job := range c.p.scenario.Clusters {
		for _, name := range job.Members {
			n := c.by[name]
			if n == nil {
				return fmt.Errorf("play: cluster %q names %q, which is no node", job.Name, name)
			}
			n.jobs = append(n.jobs, job)
		}
		if err := c.hand(job); err != nil {
			return err
		}
	}
	for i, s := range c.p.scenario.Subscriptions {
		for _, name := range s.Nodes {
			n := c.by[name]
			if n == nil {
				return fmt.Errorf("play: subscription %q names %q, which is no node", s.Name, name)
			}
			n.subscriptions = append(n.subscriptions, i)
		}
	}
	return nil
}

// hand gives the explicit keys of a cluster to who holds them.
func (c *crew) hand(job scenario.Cluster) error {
	for _, selector := range slices.Sorted(maps.Keys(job.Keys)) {
		names, err := c.p.index.Select(selector)
		if err != nil {
			return fmt.Errorf("play: keys of cluster %q: %w", job.Name, err)
		}
		for _, name := range names {
			n := c.by[name]
			if n.relay != nil {
				continue // its relay holds them
			}
			if n.spec.ClusterKeys == nil {
				n.spec.ClusterKeys, n.keys = make(map[string][]security.KeyVersion), make(map[string]string)
			}
			n.keys[job.Name] = job.Keys[selector]
			n.spec.ClusterKeys[job.Name] = clusterKey(c.p.scenario.Seed, job.Keys[selector])
		}
	}
	return nil
}

// early are the nodes of the warm-up, late the others.
func (c *crew) early() []*crewNode {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *crewNode) bool { return n.start > 0 })
}

func (c *crew) late() []*crewNode {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *crewNode) bool { return n.start <= 0 })
}

// carrier is the node itself, or the relay of a client.
func (n *crewNode) carrier() *crewNode {
	if n.relay != nil {
		return n.relay
	}
	return n
}

// alive returns the node's current life, or nil.
func (n *crewNode) alive() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// enter claims the node for a start (dead) or an end (alive).
func (n *crewNode) enter(alive bool) *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy || (n.life != nil) != alive {
		return nil
	}
	n.busy = true
	if !alive {
		return &life{}
	}
	return n.life
}

// leaving says whether the node lives no longer, but is not gone either.
func (n *crewNode) leaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.busy && n.life != nil
}

func (n *crewNode) leave(l *life) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy, n.life = false, l
}

// start starts a node and registers its members. It waits for a node that
// still drains, and does nothing if the node lives.
func (c *crew) start(n *crewNode) {
	for n.enter(false) == nil {
		if !n.leaving() {
			return
		}
		c.p.level.Sleep(c.p.level.Now() + warmUpLook)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	participant, err := c.p.level.Start(ctx, n.specified())
	if err != nil {
		n.leave(nil)
		c.p.fail(err)
		return
	}
	l := &life{Participant: participant}
	l.index = add(c.p.record, &c.p.record.h.Nodes, history.Node{
		Name: n.name, Relay: n.spec.Relay, Zone: n.spec.Zone, Peer: participant.Peer(), Network: n.network, Key: n.label(), Keys: n.carrier().keys, Seeds: seedsOf(n),
		From: c.p.level.Now(), Leaving: -1, Until: -1, Adversary: n.spec.Adversary != nil || n.idle, Gateway: peersOf(participant),
	})
	n.leave(l)
	for _, job := range n.jobs {
		c.serve(n, l, job)
	}
	c.subscribeAll(n, l)
	if c.p.start > 0 { // else what waits for the start of all would wait for it
		c.renew(n, l)
	}
}

// serve registers one member.
func (c *crew) serve(n *crewNode, l *life, job scenario.Cluster) {
	p := c.p
	t := &post{p: p, node: n, job: job, peer: l.Peer(), ended: -1}
	t.tenure = t.asks(p.level.Now())
	n.mu.Lock()
	l.posts = append(l.posts, t)
	n.mu.Unlock()
	h, err := newHandler(p, l, t)
	if err != nil {
		p.fail(err)
		return
	}
	ctx, cancel := l.Within(10 * time.Second)
	defer cancel()
	registration, err := l.Serve(ctx, job.Name, h, patterns.Limits{
		Concurrency: job.Limits.Concurrency, QueueLength: job.Limits.QueueLength, QueueBytes: int(job.Limits.QueueBytes),
		MessageBytes: int(job.Limits.MessageBytes), Capacity: job.Limits.Capacity, Tunnels: job.Limits.Tunnels,
	})
	if err != nil {
		p.record.note(func(h *history.History) { h.Tenures[t.tenure].Err = err.Error() })
		return
	}
	t.taken(registration)
}

// end takes a node out: drop does it to the node itself, before it is closed.
func (c *crew) end(n *crewNode, how string, drop func(*life) error) error {
	l := n.enter(true)
	if l == nil {
		return nil
	}
	var subscriptions []int
	tenures := n.tenures(l)
	for _, h := range n.heard(l) {
		subscriptions = append(subscriptions, h.index)
	}
	now := c.p.level.Now()
	c.p.record.leaving(tenures, now)
	c.p.record.note(func(h *history.History) { h.Nodes[l.index].Leaving = now })
	c.p.record.unsubscribing(subscriptions, now)
	c.orphan(n)
	began := c.p.level.Now()
	err := drop(l)
	if how == "stopped" {
		began = c.p.level.Now() // it could work until it was done
	}
	c.p.record.note(func(h *history.History) {
		h.Nodes[l.index].Until, h.Nodes[l.index].How = began, how
		for _, t := range tenures {
			h.Tenures[t].Until = began
		}
	})
	c.p.record.unsubscribed(subscriptions, began)
	_ = l.Close() // whatever it says, the node is gone
	n.leave(nil)
	return err
}

// stop drains a node and closes it.
func (c *crew) stop(n *crewNode, apply func() error) error {
	return c.end(n, "stopped", func(l *life) error {
		ctx, cancel := l.Within(stopWithin)
		defer cancel()
		_ = l.Shutdown(ctx) // what does not drain in time is closed
		return apply()
	})
}

// calm ends the faults that the player itself makes.
func (c *crew) calm() {
	for _, n := range c.nodes {
		n.mu.Lock()
		n.factor = 1
		n.mu.Unlock()
	}
}

// shut marks who is alive and in at the end and closes everybody, one after the
// other, clients before their relays.
func (c *crew) shut() {
	nodes := slices.Clone(c.nodes)
	slices.SortStableFunc(nodes, func(a, b *crewNode) int { return cmp.Compare(b.spec.Relay, a.spec.Relay) })
	for _, n := range nodes {
		if l := n.enter(true); l != nil {
			c.p.record.note(func(h *history.History) { h.Nodes[l.index].Correct = h.Nodes[l.index].Key != history.Excluded })
			_ = l.Close()
			n.leave(nil)
		}
	}
}

// post is a member of one life: one registration. A client's becomes another
// member, with a tenure of its own, each time that its relay has forgotten it.
type post struct {
	// Immutable.
	p    *player
	node *crewNode
	job  scenario.Cluster
	peer string

	// Guarded by crewNode.mu.
	registration patterns.Registration // nil until it is acknowledged
	member       string                // as the registration said last
	tenure       int
	ended        time.Duration // when the relay went away; -1 = it is there
}

// renewEvery is how often the player looks whether a client's members are others.
const renewEvery = 10 * time.Millisecond

// asks opens the record of a registration.
func (t *post) asks(at time.Duration) int {
	return add(t.p.record, &t.p.record.h.Tenures, history.Tenure{
		Cluster: t.job.Name, Serial: t.job.Limits.Concurrency == 1, Places: patterns.Limits{Concurrency: t.job.Limits.Concurrency}.WithDefaults().Concurrency, Work: usual(t.job.Handler), Node: t.node.name, Peer: t.peer, Asked: at, From: -1, Leaving: -1, Until: -1,
	})
}

// usual is how long a handler takes on average; 0 = not known.
func usual(h scenario.Handler) time.Duration {
	if h.Kind != "slow" {
		return 0
	}
	return (h.Work + h.Jitter/2).D()
}

// taken notes that the registration was acknowledged.
func (t *post) taken(r patterns.Registration) {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	t.registration = r
	t.serves(r.Member(), t.p.level.Now())
}

// serves notes which member the registration is now.
func (t *post) serves(member string, at time.Duration) {
	t.member = member
	t.p.record.note(func(h *history.History) { h.Tenures[t.tenure].Member, h.Tenures[t.tenure].From = member, at })
}

// orphaned notes that the relay goes away: the member is none any more.
func (t *post) orphaned(at time.Duration) {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	if t.ended < 0 && t.registration != nil {
		t.ended = at
		t.p.record.leaving([]int{t.tenure}, at)
	}
}

// now is the tenure that the member has now.
func (t *post) now() int {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	if t.registration == nil || t.node.relay == nil {
		return t.tenure
	}
	member := t.registration.Member()
	if member == t.member {
		return t.tenure
	}
	at := t.p.level.Now()
	asked := t.ended
	if asked < 0 { // the relay was there all the time, and yet has forgotten it
		asked = max(0, at-renewEvery)
		t.p.record.leaving([]int{t.tenure}, asked)
	}
	// Its relay has forgotten the member before.
	t.p.record.note(func(h *history.History) { h.Tenures[t.tenure].Until = at })
	t.tenure, t.ended = t.asks(asked), -1
	t.serves(member, at)
	return t.tenure
}

// renew looks from time to time whether a client's members are others now.
func (c *crew) renew(n *crewNode, l *life) {
	if n.relay == nil || len(n.jobs) == 0 || l == nil || n.alive() != l {
		return
	}
	for _, t := range n.posts(l) {
		t.now()
	}
	if c.p.record.over() {
		return
	}
	c.p.at(c.p.level.Now()+renewEvery, fmt.Sprint("renew ", n.name), func() { c.renew(n, l) })
}

// posts are the registrations that a life has made.
func (n *crewNode) posts(l *life) []*post {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(l.posts)
}

// tenures are those that the members of a life have now.
func (n *crewNode) tenures(l *life) (all []int) {
	for _, t := range n.posts(l) {
		all = append(all, t.now())
	}
	return all
}

// orphan notes for the clients of a relay that it goes away.
func (c *crew) orphan(relay *crewNode) {
	at := c.p.level.Now()
	for _, n := range c.nodes {
		if l := n.alive(); n.relay == relay && l != nil {
			for _, t := range n.posts(l) {
				t.now()
				t.orphaned(at)
			}
		}
	}
}

// listener is one subscription of one life of a node.
type listener struct {
	p     *player
	node  *crewNode
	index int // in the history
	work  time.Duration
	open  patterns.Subscription // guarded by crewNode.mu; nil until it is acknowledged
	entry int                   // of the scenario
}

// ServePublication implements patterns.Subscriber.
func (s *listener) ServePublication(got patterns.Publication) {
	s.p.record.delivered(s.index, s.p.level.Now(), got)
	s.node.mu.Lock()
	factor := s.node.factor
	s.node.mu.Unlock()
	time.Sleep(s.work * time.Duration(max(1, factor)))
}

// ServeGap implements patterns.Subscriber.
func (s *listener) ServeGap(g patterns.Gap) {
	add(s.p.record, &s.p.record.h.Gaps, history.Gap{
		Subscription: s.index, At: s.p.level.Now(), Peer: g.From, Missed: g.Missed, Exact: g.Exact, Reason: string(g.Reason),
	})
}

// subscribeAll makes the subscriptions that a life has from its start on.
func (c *crew) subscribeAll(n *crewNode, l *life) {
	now := c.p.level.Now() - c.p.start
	for _, i := range n.subscriptions {
		s := c.p.scenario.Subscriptions[i]
		began := s.Start == 0 || c.p.start > 0 && s.Start.D() <= now
		if began && (s.Stop == 0 || c.p.start == 0 || now < s.Stop.D()) {
			c.subscribe(n, l, i)
		}
	}
}

// subscribe makes one entry's subscriptions of a life.
func (c *crew) subscribe(n *crewNode, l *life, entry int) {
	s, p := c.p.scenario.Subscriptions[entry], c.p
	for range max(1, s.Count) {
		h := &listener{p: p, node: n, work: s.Work.D(), entry: entry}
		h.index = add(p.record, &p.record.h.Subscriptions, history.Subscription{
			Name: s.Name, Node: n.name, Peer: l.Peer(), Network: n.carrier().network, Pattern: s.Pattern, Queue: s.Queue, NoEcho: s.NoEcho,
			Slow: s.Work > 0 || s.QueueLength > 0 || s.QueueBytes > 0, Asked: p.level.Now(), From: -1, Leaving: -1, Until: -1,
		})
		n.mu.Lock()
		l.listeners = append(l.listeners, h)
		n.mu.Unlock()
		ctx, cancel := l.Within(subscribeWithin)
		open, err := l.Subscribe(ctx, s.Pattern, h, optionsOf(s))
		cancel()
		if err != nil {
			p.record.note(func(all *history.History) { all.Subscriptions[h.index].Err = err.Error() })
			continue
		}
		now := p.level.Now()
		if n.label() != history.Excluded { // who is out is promised nothing
			p.record.note(func(all *history.History) { all.Subscriptions[h.index].From = now })
		}
		n.mu.Lock()
		h.open = open
		n.mu.Unlock()
	}
}

func optionsOf(s scenario.Subscription) patterns.SubscribeOptions {
	return patterns.SubscribeOptions{
		Queue: s.Queue, NoEcho: s.NoEcho, Signed: s.Signed, QueueLength: s.QueueLength, QueueBytes: int(s.QueueBytes),
		Overflow: map[string]patterns.Overflow{
			"newest": patterns.OverflowNewest, "block": patterns.OverflowBlock,
		}[s.Overflow],
	}
}

// unsubscribe ends one entry's subscriptions of a node.
func (c *crew) unsubscribe(n *crewNode, entry int) {
	l := n.alive()
	if l == nil {
		return
	}
	for _, h := range n.heard(l) {
		n.mu.Lock()
		open := h.open
		n.mu.Unlock()
		if h.entry != entry || open == nil {
			continue
		}
		c.p.record.unsubscribing([]int{h.index}, c.p.level.Now())
		ctx, cancel := l.Within(stopWithin)
		_ = open.Close(ctx)
		cancel()
		c.p.record.unsubscribed([]int{h.index}, c.p.level.Now())
	}
}

// heard are the subscriptions that a life has made.
func (n *crewNode) heard(l *life) []*listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(l.listeners)
}

// plan plans what crews do by themselves in the safety phase: subscriptions that
// begin or end, and looks at the members of clients.
func (c *crew) plan() {
	for _, n := range c.nodes {
		c.renew(n, n.alive())
	}
	for i, s := range c.p.scenario.Subscriptions {
		for _, name := range s.Nodes {
			n := c.by[name]
			if s.Start > 0 {
				c.p.at(c.p.start+s.Start.D(), fmt.Sprintf("subscribe %s %d", name, i), func() {
					if l := n.alive(); l != nil {
						c.subscribe(n, l, i)
					}
				})
			}
			if s.Stop > 0 {
				c.p.at(c.p.start+s.Stop.D(), fmt.Sprintf("unsubscribe %s %d", name, i), func() { c.unsubscribe(n, i) })
			}
		}
	}
}

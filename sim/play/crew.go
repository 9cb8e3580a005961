// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"errors"
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
	p     *player
	nodes []*crewNode // in the scenario's order; immutable
	by    map[string]*crewNode
}

// crewNode is a node that may live several times.
type crewNode struct {
	// Immutable.
	name          string
	start         time.Duration
	spec          NodeSpec
	relay         *crewNode // that it is a client of; nil = it is a node
	key           string
	keys          map[string]string  // cluster to label of its explicit key
	jobs          []scenario.Cluster // that it serves
	subscriptions []int              // that it makes: indexes into the scenario's

	mu     sync.Mutex
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
	for _, g := range p.scenario.Nodes {
		file, err := network(p.scenario.Seed, g.Key)
		if err != nil {
			return nil, err
		}
		for i, name := range g.Names() {
			n := &crewNode{
				name: name, start: g.Start.D() + time.Duration(i)*g.Every.D(), key: g.Key, factor: 1,
				spec: NodeSpec{Name: name, Zone: g.Zone, Network: file},
			}
			if relay := p.index.Relay(name); relay != "" {
				n.spec.Relay = relay
			} else if len(c.nodes) > 0 { // also those whose key differs, and who will be refused
				n.spec.Seeds = []string{c.nodes[0].name}
			}
			c.nodes, c.by[name] = append(c.nodes, n), n
		}
	}
	for _, n := range c.nodes {
		if n.relay = c.by[n.spec.Relay]; n.relay != nil {
			n.key, n.spec.Zone, n.relay.spec.Relays = n.relay.key, n.relay.spec.Zone, true
		}
	}
	return c, c.assign()
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
	participant, err := c.p.level.Start(ctx, n.spec)
	if err != nil {
		n.leave(nil)
		c.p.fail(err)
		return
	}
	l := &life{Participant: participant}
	l.index = c.p.record.born(history.Node{
		Name: n.name, Relay: n.spec.Relay, Zone: n.spec.Zone, Peer: participant.Peer(), Key: n.key, Keys: n.carrier().keys,
		From: c.p.level.Now(), Leaving: -1, Until: -1,
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
	h, err := p.handler(l, t)
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
		p.record.refused(t.tenure, err)
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
	var tenures, subscriptions []int
	for _, t := range n.posts(l) {
		tenures = append(tenures, t.now())
	}
	n.mu.Lock()
	for _, h := range l.listeners {
		subscriptions = append(subscriptions, h.index)
	}
	n.mu.Unlock()
	c.p.record.leaving(tenures, c.p.level.Now())
	c.p.record.departing(l.index, c.p.level.Now())
	c.p.record.unsubscribing(subscriptions, c.p.level.Now())
	c.orphan(n)
	began := c.p.level.Now()
	err := drop(l)
	if how == "stopped" {
		began = c.p.level.Now() // it could work until it was done
	}
	c.p.record.died(l.index, tenures, how, began)
	c.p.record.unsubscribed(subscriptions, began)
	if closeErr := l.Close(); err == nil && closeErr != nil && !errors.Is(closeErr, patterns.ErrClosed) {
		c.p.log.Debug("close", zapNode(n.name), zapError(closeErr))
	}
	n.leave(nil)
	return err
}

// stop drains a node and closes it.
func (c *crew) stop(n *crewNode, apply func() error) error {
	return c.end(n, "stopped", func(l *life) error {
		ctx, cancel := l.Within(stopWithin)
		defer cancel()
		if err := l.Shutdown(ctx); err != nil {
			c.p.log.Debug("shutdown", zapNode(n.name), zapError(err))
		}
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

// shut marks who is alive at the end and closes everybody, one after the
// other, clients before their relays.
func (c *crew) shut() {
	nodes := slices.Clone(c.nodes)
	slices.SortStableFunc(nodes, func(a, b *crewNode) int { return cmp.Compare(b.spec.Relay, a.spec.Relay) })
	for _, n := range nodes {
		if l := n.enter(true); l != nil {
			c.p.record.survived(l.index)
			_ = l.Close()
			n.leave(nil)
		}
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

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
	return t.p.record.asked(history.Tenure{
		Cluster: t.job.Name, Serial: t.job.Limits.Concurrency == 1, Node: t.node.name, Peer: t.peer, Asked: at, From: -1, Leaving: -1, Until: -1,
	})
}

// taken notes that the registration was acknowledged.
func (t *post) taken(r patterns.Registration) {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	t.registration, t.member = r, r.Member()
	t.p.record.served(t.tenure, t.member, t.p.level.Now())
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
	t.p.record.ousted(t.tenure, at)
	t.tenure, t.member, t.ended = t.asks(asked), member, -1
	t.p.record.served(t.tenure, member, at)
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
	return append([]*post(nil), l.posts...)
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

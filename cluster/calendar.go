// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// calendar is the core that knows under which blinded ids a cluster goes now.
type calendar struct {
	self  peer.ID
	keys  func(name string) *security.Cluster
	terms map[string]*term
	alarm alarm
}

// term is what is valid for one name.
type term struct {
	cluster *security.Cluster
	stamps  []stamp // newest first
	until   time.Time
	users   int
}

// stamp is one epoch with what this node shows for it, computed once.
type stamp struct {
	epoch security.Epoch
	cid   security.ClusterID
	key   []byte
	proof []byte
}

func newCalendar(self peer.ID, keys func(string) *security.Cluster) *calendar {
	return &calendar{self: self, keys: keys, terms: make(map[string]*term)}
}

// use returns what is valid for name, newest first, and follows it until
// leave; calls are counted.
func (c *calendar) use(now time.Time, name string) []stamp {
	t := c.terms[name]
	if t == nil {
		t = &term{cluster: c.keys(name)}
		c.terms[name] = t
		c.turn(now, t)
	}
	t.users++
	return t.stamps
}

func (c *calendar) leave(name string) {
	t := c.terms[name]
	if t.users--; t.users == 0 {
		delete(c.terms, name)
	}
}

// stamps returns what is valid for a name in use.
func (c *calendar) stamps(name string) []stamp { return c.terms[name].stamps }

// tick returns the names, sorted, for which something else is valid now.
func (c *calendar) tick(now time.Time) []string {
	if !c.alarm.rings(now) {
		return nil
	}
	var turned []string
	for name, t := range c.terms {
		if now.Before(t.until) {
			c.alarm.plan(t.until)
			continue
		}
		c.turn(now, t)
		turned = append(turned, name)
	}
	slices.Sort(turned)
	return turned
}

func (c *calendar) turn(now time.Time, t *term) {
	old := t.stamps
	t.stamps = nil
	for _, e := range t.cluster.Epochs(now) {
		i := slices.IndexFunc(old, func(s stamp) bool { return s.cid == e.ID() })
		if i >= 0 {
			t.stamps = append(t.stamps, old[i])
			continue
		}
		t.stamps = append(t.stamps, stamp{epoch: e, cid: e.ID(), key: e.PublicKey(), proof: e.Prove(c.self)})
	}
	t.until = t.cluster.NextChange(now)
	c.alarm.plan(t.until)
}

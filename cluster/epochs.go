// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// epochTable is the core that knows under which blinded ids a cluster goes now.
type epochTable struct {
	self  peer.ID
	keys  func(name string) *security.Cluster
	walls func() []time.Time // Config.Walls
	terms map[string]*term
	turns agenda[*term]
}

// term is what is valid for one name.
type term struct {
	slot
	users   int32
	name    string
	cluster *security.Cluster
	epochs  []*epoch // newest first
}

// epoch is one epoch with the proof that this node shows for it, made once.
type epoch struct {
	keys  security.Epoch
	cid   security.ClusterID
	proof []byte
	whole bool // records are in one part: whoever is in the network has the key

	shards *shards // nil = it is the cluster's own, and no shard of it was derived
}

// use returns what is valid for name, newest first, and follows it until
// leave; calls are counted.
func (c *epochTable) use(now time.Time, name string) []*epoch {
	t := c.terms[name]
	if t == nil {
		t = &term{name: name, cluster: c.keys(name)}
		c.terms[name] = t
		c.turn(now, t)
	}
	t.users++
	return t.epochs
}

func (c *epochTable) leave(name string) {
	t := c.terms[name]
	if t.users--; t.users == 0 {
		c.turns.cancel(t)
		delete(c.terms, name)
	}
}

// of returns what is valid for a name in use.
func (c *epochTable) of(name string) []*epoch { return c.terms[name].epochs }

// followEpochs makes old match what is valid: in its order, begun where it is new,
// ended where it is no longer valid.
func followEpochs[T any](old []T, valid []*epoch, id func(T) security.ClusterID, begin func(*epoch) T, end func(T)) []T {
	var now []T
	for _, e := range valid {
		if i := slices.IndexFunc(old, func(t T) bool { return id(t) == e.cid }); i >= 0 {
			now = append(now, old[i])
			old = slices.Delete(old, i, i+1)
		} else {
			now = append(now, begin(e))
		}
	}
	for _, t := range old {
		end(t)
	}
	return now
}

// tick returns the names, sorted, for which something else is valid now.
func (c *epochTable) tick(now time.Time) []string {
	var turned []string
	for _, t := range c.turns.due(now) {
		c.turn(now, t)
		turned = append(turned, t.name)
	}
	slices.Sort(turned)
	return turned
}

// renew looks at every name anew, and returns those, sorted, for which something else
// is valid now.
func (c *epochTable) renew(now time.Time) []string {
	var turned []string
	for name, t := range c.terms {
		old := t.epochs
		if c.turn(now, t); !slices.EqualFunc(old, t.epochs, func(a, b *epoch) bool { return a.cid == b.cid }) {
			turned = append(turned, name)
		}
	}
	slices.Sort(turned)
	return turned
}

func (c *epochTable) turn(now time.Time, t *term) {
	old := t.epochs
	t.epochs = nil
	walls := c.walls()
	// Keys that somebody has brought may have been taken back, and brought again.
	if c := c.keys(t.name); len(c.Epochs(walls[0])) > 0 {
		t.cluster = c
	}
	var next time.Duration
	for i, wall := range walls {
		for _, e := range t.cluster.Epochs(wall) {
			if slices.ContainsFunc(t.epochs, func(o *epoch) bool { return o.cid == e.ID() }) {
				continue
			}
			if i := slices.IndexFunc(old, func(o *epoch) bool { return o.cid == e.ID() }); i >= 0 {
				t.epochs = append(t.epochs, old[i])
			} else {
				t.epochs = append(t.epochs, &epoch{keys: e, cid: e.ID(), proof: e.Prove(c.self), whole: t.cluster.Derived()})
			}
		}
		if left := t.cluster.NextChange(wall).Sub(wall); i == 0 || left < next {
			next = left
		}
	}
	// What is left is measured: a wall clock that is set, which keysEvent tells, must not
	// put it off.
	c.turns.plan(t, now.Add(next))
}

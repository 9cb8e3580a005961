// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// group is what this node listens to in one group of topics, and the lease that
// tells publishers.
type group struct {
	l     *local // immutable, as the next two
	scope        // what it is the group of
	key   uint64 // for Exec

	mu      sync.Mutex
	lease                            // guarded by mu
	wanted  map[interestKey]*want    // guarded by mu
	subs    map[uint64]*subscription // guarded by mu; by their numbers
	queued  int                      // guarded by mu; bytes of interests of queues
	version uint64                   // guarded by mu; of wanted
	next    []wire.Interest          // guarded by mu; what the next one will say …
	telling bool                     // guarded by mu; … which is being registered
	changed int64                    // guarded by mu; when version changed
	running bool                     // guarded by mu; a worker renews the lease, or will
	joining []*joiner                // guarded by mu
	left    bool                     // guarded by mu; the node drains
	dead    bool                     // guarded by mu; nobody wanted anything, and it is forgotten

	forward *rootForward // of the root group; used by the worker and its timer
}

// scope says what a group is: it is immutable.
type scope struct {
	name   string // the first word, with the id of the keys that somebody has brought, or rootGroup
	word   string // the first word
	wide   string // the cluster
	root   bool
	keys   env.GroupKeys
	finder *finder // has its subscriptions
}

// newScope returns what the group of that name is. Those under keys that somebody has
// brought share nothing with others: who lacks the keys is not found.
func newScope(l *local, group string, root bool) scope {
	s := scope{name: group, wide: env.ClusterOf(group), root: root, keys: l.KeysOf(group), finder: &l.own}
	if s.word, _ = name.CutRef(group); s.keys.Own == nil {
		s.finder = &finder{limit: fanout.MaxPrepared / 16}
	}
	return s
}

// lease is what publishers have been told.
type lease struct {
	acked  uint64           // the version that the lease carries
	told   []wire.Interest  // what the lease says
	coarse int              // of so many interests it says less, but more than enough; 0 = of none
	member cluster.MemberID // of the lease; 0 = none
	life   uint16           // of the lease, or of the last one; owned by the worker
}

type interestKey struct{ pattern, queue string }

// want is how many subscriptions want the same, and since which version; and how many
// of them want it signed.
type want struct {
	count, signed int
	since, strict uint64
}

// joiner is a Subscribe, or the Close of a queue's, that waits.
type joiner struct {
	id      uint64
	version uint64
	done    chan error // has room for one
}

func newGroup(l *local, name string, root bool) *group {
	g := &group{l: l, scope: newScope(l, name, root), wanted: make(map[interestKey]*want), subs: make(map[uint64]*subscription)}
	g.key = env.HashNode(g.wide)
	if root {
		g.forward = &rootForward{l: l, key: g.key}
	}
	return g
}

// errForgotten says that there is another group of that name by now.
var errForgotten = errors.New("pubsub: group is forgotten")

// join adds the subscription, and returns when publishers can know.
func (g *group) join(ctx context.Context, s *subscription) error {
	g.mu.Lock()
	switch {
	case g.left:
		g.mu.Unlock()
		return patterns.ErrClosed
	case g.dead:
		g.mu.Unlock()
		return errForgotten
	}
	since, err := g.addLocked(interestKey{s.pattern, s.options.Queue}, s.strict())
	if err != nil {
		g.mu.Unlock()
		return err
	}
	g.finder.index(g.root).Add(s.pattern, s)
	g.subs[s.id] = s
	s.joined.Store(true)
	return g.waitAndUnlock(ctx, since)
}

// waitAndUnlock waits until the lease carries that version.
func (g *group) waitAndUnlock(ctx context.Context, version uint64) error {
	start := g.startLocked()
	if version <= g.acked {
		g.mu.Unlock()
		g.run(start)
		return nil
	}
	j := &joiner{id: g.l.IDs.Add(1), version: version, done: make(chan error, 1)}
	g.joining = append(g.joining, j)
	g.mu.Unlock()
	g.run(start)
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.l.Ctx.Done():
		return patterns.ErrClosed
	}
}

// addLocked counts one more that wants k, and says which version of the lease
// carries it.
func (g *group) addLocked(k interestKey, signed bool) (since uint64, err error) {
	if w := g.wanted[k]; w != nil {
		w.count++
		if k.queue != "" {
			g.changeLocked() // its weight
		}
		if !signed {
			return w.since, nil
		}
		if w.signed++; w.signed == 1 {
			g.changeLocked()
			w.strict = g.version
		}
		return max(w.since, w.strict), nil
	}
	if k.queue != "" {
		size := interestSize(k)
		if g.queued+size > env.MaxQueued { // of queues there is no coarser form
			g.l.Drops.Inc(env.DropSubscriptions)
			return 0, fmt.Errorf("%w: patterns and queue groups of one first word on one node: they need more than %d bytes: use fewer or shorter ones", patterns.ErrTooMany, env.MaxQueued)
		}
		g.queued += size
	}
	w := &want{count: 1}
	if signed {
		w.signed = 1
	}
	g.wanted[k] = w
	if k.queue == "" && env.Covered(g.told, k.pattern, signed) && (!g.telling || env.Covered(g.next, k.pattern, signed)) {
		g.changed = g.l.Now()
		return 0, nil // it is within a coarser one
	}
	g.changeLocked()
	w.since, w.strict = g.version, g.version
	return w.since, nil
}

// retire has publishers leave this node out of a queue whose last subscription
// here ends, and waits until they are told. What was given to it before is on its
// way, and nobody else will have it: false means that there is no such thing.
func (g *group) retire(ctx context.Context, s *subscription) bool {
	g.mu.Lock()
	k := interestKey{s.pattern, s.options.Queue}
	if s.queue == 0 || !s.joined.Load() || g.left || g.wanted[k].count > 1 || ctx.Err() != nil {
		g.mu.Unlock()
		return false
	}
	s.retired = true
	g.removeLocked(k, s.strict())
	_ = g.waitAndUnlock(ctx, g.version)
	return true
}

// leave removes the subscription. That nobody wants a pattern any more is told
// soon.
func (g *group) leave(s *subscription) {
	if !s.joined.Load() {
		return
	}
	g.finder.index(g.root).Remove(s.pattern, s)
	g.mu.Lock()
	delete(g.subs, s.id)
	over := g.dead && len(g.subs) == 0
	if !s.retired {
		g.removeLocked(interestKey{s.pattern, s.options.Queue}, s.strict())
	}
	start := g.startLocked()
	g.mu.Unlock()
	if over {
		g.l.lives.end(g)
	}
	g.run(start)
}

func (g *group) removeLocked(k interestKey, signed bool) {
	w := g.wanted[k]
	w.count--
	lax := false
	if signed {
		w.signed--
		lax = w.signed == 0
	}
	if w.count == 0 {
		delete(g.wanted, k)
		if k.queue != "" {
			g.queued -= interestSize(k)
		}
	}
	// A pattern that is within a coarser one is not missed, before many of them are.
	named := w.count == 0 && slices.ContainsFunc(g.told, func(i wire.Interest) bool { return i.Pattern == k.pattern })
	if k.queue != "" || named || lax || len(g.wanted) <= g.coarse/2 || len(g.wanted) == 0 || g.running {
		g.changeLocked()
	}
}

func (g *group) changeLocked() {
	g.version++
	g.changed = g.l.Now()
}

// members returns the group's subscriptions in the order they came, and whether
// what is missing in the group is missing for each: all want the same, and
// nothing else is sent here, and that for a while.
func (g *group) members() (subs []*subscription, exact bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	subs = env.Sorted(g.subs, func(s *subscription) uint64 { return s.id })
	if g.root || g.coarse > 0 || len(g.wanted) != 1 {
		return subs, false
	}
	for k, w := range g.wanted {
		if k.queue != "" && w.count > 1 {
			return subs, false // one of them would have got it
		}
	}
	return subs, g.l.Now()-g.changed > int64(env.UnsureTime)
}

func interestSize(k interestKey) int {
	return wire.InterestsSize([]wire.Interest{interestOf(k, &want{count: 1})})
}

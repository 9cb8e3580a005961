// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// group is what this node listens to in one group of topics, and the lease that
// tells publishers.
type group struct {
	// Immutable.
	e    *Engine
	name string // the first word, or rootGroup
	root bool
	wide string // the cluster
	key  uint64 // for Exec

	mu      sync.Mutex
	wanted  map[interestKey]*want    // guarded by mu
	subs    map[uint64]*subscription // guarded by mu; by their numbers
	queued  int                      // guarded by mu; bytes of interests of queues
	version uint64                   // guarded by mu; of wanted
	acked   uint64                   // guarded by mu; the version that the lease carries
	told    []wire.Interest          // guarded by mu; what the lease says
	coarse  int                      // guarded by mu; of so many interests it says less, but more than enough; 0 = of none
	changed int64                    // guarded by mu; when version changed
	running bool                     // guarded by mu; a worker renews the lease, or will
	member  cluster.MemberID         // guarded by mu; of the lease; 0 = none
	joining []*joiner                // guarded by mu
	left    bool                     // guarded by mu; the node drains
	dead    bool                     // guarded by mu; nobody wanted anything, and it is forgotten

	forward *forwarder // of the root group; used by the worker and its timer
}

type interestKey struct{ pattern, queue string }

// want is how many subscriptions want the same, and since which version.
type want struct {
	count int
	since uint64
}

// joiner is a Subscribe, or the Close of a queue's, that waits.
type joiner struct {
	id      uint64
	version uint64
	done    chan error // has room for one
}

func newGroup(e *Engine, name string, root bool) *group {
	g := &group{e: e, name: name, root: root, wide: clusterOf(name), wanted: make(map[interestKey]*want), subs: make(map[uint64]*subscription)}
	g.key = hashNode(g.wide)
	if root {
		g.forward = &forwarder{g: g}
	}
	return g
}

// errForgotten says that there is another group of that name by now.
var errForgotten = errors.New("pubsub: group is forgotten")

// forget removes a group that nobody needs.
func (e *Engine) forget(g *group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups[g.name] == g {
		delete(e.groups, g.name)
	}
}

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
	since, err := g.addLocked(interestKey{s.pattern, s.options.Queue})
	if err != nil {
		g.mu.Unlock()
		return err
	}
	g.e.index(g.root).Add(s.pattern, s)
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
	j := &joiner{id: g.e.ids.Add(1), version: version, done: make(chan error, 1)}
	g.joining = append(g.joining, j)
	g.mu.Unlock()
	g.run(start)
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.e.ctx.Done():
		return patterns.ErrClosed
	}
}

// addLocked counts one more that wants k, and says which version of the lease
// carries it.
func (g *group) addLocked(k interestKey) (since uint64, err error) {
	if w := g.wanted[k]; w != nil {
		w.count++
		if k.queue != "" {
			g.changeLocked() // its weight
		}
		return w.since, nil
	}
	if k.queue != "" {
		size := interestSize(k)
		if g.queued+size > maxQueued { // of queues there is no coarser form
			g.e.drops.Inc(dropSubscriptions)
			return 0, patterns.ErrTooMany
		}
		g.queued += size
	}
	w := &want{count: 1}
	g.wanted[k] = w
	if !g.running && k.queue == "" && covered(g.told, k.pattern) {
		g.changed = g.e.now()
		return 0, nil // it is within a coarser one
	}
	g.changeLocked()
	w.since = g.version
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
	g.removeLocked(k)
	_ = g.waitAndUnlock(ctx, g.version)
	return true
}

// leave removes the subscription. That nobody wants a pattern any more is told
// soon.
func (g *group) leave(s *subscription) {
	if !s.joined.Load() {
		return
	}
	g.e.index(g.root).Remove(s.pattern, s)
	g.mu.Lock()
	delete(g.subs, s.id)
	if !s.retired {
		g.removeLocked(interestKey{s.pattern, s.options.Queue})
	}
	start := g.startLocked()
	g.mu.Unlock()
	g.run(start)
}

func (g *group) removeLocked(k interestKey) {
	w := g.wanted[k]
	w.count--
	if w.count == 0 {
		delete(g.wanted, k)
		if k.queue != "" {
			g.queued -= interestSize(k)
		}
	}
	// A pattern that is within a coarser one is not missed, before many of them are.
	named := w.count == 0 && slices.ContainsFunc(g.told, func(i wire.Interest) bool { return i.Pattern == k.pattern })
	if k.queue != "" || named || len(g.wanted) <= g.coarse/2 || len(g.wanted) == 0 || g.running {
		g.changeLocked()
	}
}

func (g *group) changeLocked() {
	g.version++
	g.changed = g.e.now()
}

// exact says whether what is missing in the group is missing for every
// subscription: all want the same, and nothing else is sent here, and that for a
// while.
func (g *group) exact() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.root || g.coarse > 0 || len(g.wanted) != 1 {
		return false
	}
	for k, w := range g.wanted {
		if k.queue != "" && w.count > 1 {
			return false // one of them would have got it
		}
	}
	return g.e.now()-g.changed > int64(unsureTime)
}

// startLocked says whether a worker has to be started, which is up to the
// caller.
func (g *group) startLocked() bool {
	if g.running || g.version == g.acked && (!g.left || g.member == 0) {
		return false
	}
	g.running = true
	return true
}

// run has a worker renew the lease, a little later: other changes may follow.
func (g *group) run(start bool) {
	if start {
		g.runAfter(leaseTime)
	}
}

func (g *group) runAfter(d time.Duration) {
	g.e.after("pubsub.lease", d, func() {
		if !g.e.enter() {
			return
		}
		if !g.e.cfg.Exec.Go(overlay.ExecKey{Name: "pubsub.lease", N: g.key}, func() { defer g.e.wg.Done(); g.renew() }) {
			g.e.wg.Done()
			g.runAfter(leaseTime) // no worker is free
		}
	})
}

// renew registers what is wanted until nothing else is: a lease with the new
// interests first, then the old one is withdrawn. Where that fails it is tried
// again later; those who wait for it are told.
func (g *group) renew() {
	for {
		g.mu.Lock()
		if g.version == g.acked && (!g.left || g.member == 0) {
			g.running = false
			g.dead = len(g.wanted) == 0 && !g.root
			dead := g.dead
			g.mu.Unlock()
			if dead {
				g.e.forget(g)
			}
			return
		}
		version, old := g.version, g.member
		var interests []wire.Interest
		coarse := 0
		if !g.left {
			all := g.interestsLocked()
			interests, _ = coarsen(all, maxPayload)
			if !slices.Equal(interests, all) {
				coarse = len(all)
			}
		}
		g.mu.Unlock()

		member, err := g.replace(interests, old)

		g.mu.Lock()
		if err == nil {
			g.acked, g.member, g.told, g.coarse = version, member, interests, coarse
		}
		done := g.doneLocked(version)
		g.mu.Unlock()
		for _, j := range done {
			g.e.cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.joined", N: j.id}, func() { j.done <- err })
		}
		if err != nil {
			g.runAfter(redialTime)
			return
		}
	}
}

// replace makes a lease with these interests, if there are any, and withdraws
// the old one, if there is one.
func (g *group) replace(interests []wire.Interest, old cluster.MemberID) (member cluster.MemberID, err error) {
	if len(interests) > 0 {
		if member, err = g.register(interests); err != nil {
			return old, err
		}
	}
	if g.root {
		g.forward.settle(member != 0)
	}
	if old != 0 {
		g.e.cfg.Directory.Unregister(g.wide, old)
	}
	return member, nil
}

func (g *group) doneLocked(version uint64) (done []*joiner) {
	g.joining = slices.DeleteFunc(g.joining, func(j *joiner) bool {
		if j.version <= version {
			done = append(done, j)
			return true
		}
		return false
	})
	return done
}

// register makes a lease.
func (g *group) register(interests []wire.Interest) (cluster.MemberID, error) {
	member := cluster.MemberID(max(g.e.random.Uint64(), 1))
	err := g.e.cfg.Directory.Register(g.e.ctx, g.wide, cluster.Registration{
		Member: member, Payload: wire.AppendInterests(nil, interests),
	})
	switch {
	case err == nil:
		return member, nil
	case errors.Is(err, cluster.ErrClosed) || g.e.ctx.Err() != nil:
		return 0, patterns.ErrClosed
	}
	return 0, fmt.Errorf("%w: %w", patterns.ErrUnreachable, err)
}

// interestsLocked lists what is wanted, sorted.
func (g *group) interestsLocked() []wire.Interest {
	keys := slices.SortedFunc(maps.Keys(g.wanted), func(a, b interestKey) int {
		if c := strings.Compare(a.pattern, b.pattern); c != 0 {
			return c
		}
		return strings.Compare(a.queue, b.queue)
	})
	out := make([]wire.Interest, 0, len(keys))
	for _, k := range keys {
		out = append(out, interestOf(k, g.wanted[k].count))
	}
	return out
}

func interestOf(k interestKey, n int) wire.Interest {
	i := wire.Interest{Pattern: k.pattern, Queue: k.queue}
	if k.queue != "" {
		i.Weight = uint16(min(n, 1<<16-1))
	}
	return i
}

// withdraw ends the lease: the node drains.
func (g *group) withdraw() {
	g.mu.Lock()
	g.left = true
	start := g.startLocked()
	g.mu.Unlock()
	if start {
		g.renew()
	}
}

func interestSize(k interestKey) int {
	return wire.InterestsSize([]wire.Interest{interestOf(k, 1)})
}

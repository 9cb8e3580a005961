// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

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
		g.runAfter(env.LeaseTime)
	}
}

func (g *group) runAfter(d time.Duration) {
	g.l.After("pubsub.lease", d, func() {
		if !g.l.Work(overlay.ExecKey{Name: "pubsub.lease", N: g.key}, g.renew) {
			g.runAfter(env.LeaseTime) // no worker is free
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
			dead, over := g.dead, g.dead && len(g.subs) == 0 // else one takes what was under way
			g.mu.Unlock()
			if dead {
				g.l.forget(g)
			}
			if over {
				g.l.lives.end(g)
			}
			return
		}
		version, old := g.version, g.member
		var interests []wire.Interest
		coarse := 0
		if !g.left {
			all := g.interestsLocked()
			interests, _ = env.Coarsen(all, env.MaxPayload)
			if !slices.Equal(interests, all) {
				coarse = len(all)
			}
		}
		g.telling, g.next = true, interests
		g.mu.Unlock()

		member, err := g.replace(interests, old)

		g.mu.Lock()
		g.telling, g.next = false, nil
		if err == nil {
			g.acked, g.member, g.told, g.coarse = version, member, interests, coarse
		}
		done := g.doneLocked(version)
		g.mu.Unlock()
		for _, j := range done {
			g.l.Cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.joined", N: j.id}, func() { j.done <- err })
		}
		if err != nil {
			g.runAfter(env.RedialTime)
			return
		}
	}
}

// replace makes a lease with these interests, if there are any, and withdraws
// the old one, if there is one.
func (g *group) replace(interests []wire.Interest, old cluster.MemberID) (member cluster.MemberID, err error) {
	if len(interests) > 0 {
		if old == 0 {
			g.life = g.l.lives.begin(g)
		}
		if member, err = g.register(interests); err != nil {
			return old, err
		}
	}
	if g.root {
		g.forward.settle(member != 0, g.life)
	}
	if old != 0 {
		g.l.Cfg.Directory.Unregister(g.wide, old)
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
	member := env.MemberIn(g.life, g.l.Random.Uint64())
	err := g.l.Cfg.Directory.Register(g.l.Ctx, g.wide, cluster.Registration{
		Member: member, Payload: wire.AppendInterests(nil, interests),
	})
	switch {
	case err == nil:
		return member, nil
	case errors.Is(err, cluster.ErrClosed) || g.l.Ctx.Err() != nil:
		return 0, patterns.ErrClosed
	}
	return 0, fmt.Errorf("%w: %w", patterns.ErrUnreachable, err)
}

// interestsLocked lists what is wanted, sorted.
func (g *group) interestsLocked() []wire.Interest {
	keys := slices.SortedFunc(maps.Keys(g.wanted), func(a, b interestKey) int {
		return cmp.Or(strings.Compare(a.pattern, b.pattern), strings.Compare(a.queue, b.queue))
	})
	out := make([]wire.Interest, 0, len(keys))
	for _, k := range keys {
		out = append(out, interestOf(k, g.wanted[k]))
	}
	return out
}

func interestOf(k interestKey, w *want) wire.Interest {
	i := wire.Interest{Pattern: k.pattern, Queue: k.queue, Signed: w.signed > 0}
	if k.queue != "" {
		i.Weight = uint16(min(w.count, 1<<16-1))
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

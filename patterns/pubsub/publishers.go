// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// publishers is what this node publishes, by group.
type publishers struct {
	*env.Base

	mu     sync.Mutex
	all    map[string]*publisher        // guarded by mu; by group
	latest *route                       // guarded by mu; the one of routes that was asked for last, or nil
	routes map[string]*route            // guarded by mu; by topic; at most maxPrepared with …
	under  map[string]map[string]*route // guarded by mu; … those under keys that were brought, by these
	uplink *uplink                      // guarded by mu; nil = nothing is published
	rank   uint64                       // guarded by mu; of the last message of the last uplink
	closed bool                         // guarded by mu
}

func newPublishers(b *env.Base) *publishers {
	t := &publishers{Base: b, all: make(map[string]*publisher)}
	t.unroute()
	return t
}

// route is what is known of a topic that is published on, which is legal.
type route struct {
	topic        string
	to           *publisher
	fanout.WayTo // guarded by to.mu, but for strict
}

// asked says whether somebody has asked for signatures, on the topic or behind the way to the
// root group, nil = there is none.
func (r *route) asked(up *uplink) bool { return r.Strict.Load() || up != nil && up.strict() }

// begin returns the route of a topic under the keys of that id, which somebody has
// brought, "" = the node's own; and, where the root group may hear it, the way there.
// done it afterwards.
func (t *publishers) begin(topic, keys string) (r *route, up *uplink, err error) {
	t.mu.Lock()
	switch r = t.latest; {
	case keys != "":
		r = t.under[keys][topic]
	case r == nil || r.topic != topic:
		r = t.routes[topic]
		t.latest = r
	}
	if r != nil {
		r.to.users.Add(1)
		up = t.uplink
		t.mu.Unlock()
		if !r.to.keys.Common() {
			return r, nil, nil
		}
		if up != nil {
			return r, up, nil
		}
		t.done(r.to)
	} else {
		t.mu.Unlock()
	}
	if err := match.CheckTopic(topic); err != nil {
		return nil, nil, err
	}
	topic = strings.Clone(topic)
	group := name.Ref(env.FirstWord(topic), keys)
	if under := t.KeysOf(group); under.Gone() || !env.IsUnder(group, keys) {
		return nil, nil, env.NoKeys(topic)
	}
	r = &route{topic: topic, to: t.use(group, false)}
	if r.to == nil {
		return nil, nil, patterns.ErrClosed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		r.to.users.Add(-1)
		return nil, nil, patterns.ErrClosed
	}
	t.routeLocked(r, keys)
	if !r.to.keys.Common() { // the root group lacks the key
		return r, nil, nil
	}
	if t.uplink == nil {
		t.uplink = newUplink(t.Base, t.rank)
	}
	return r, t.uplink, nil
}

// routeLocked remembers a route.
func (t *publishers) routeLocked(r *route, keys string) {
	n := len(t.routes)
	for _, of := range t.under {
		n += len(of)
	}
	if n >= fanout.MaxPrepared {
		t.unroute()
	}
	of := t.routes
	if keys != "" {
		if of = t.under[keys]; of == nil {
			of = make(map[string]*route)
			t.under[strings.Clone(keys)] = of
		}
	}
	of[r.topic] = r
}

// unroute forgets all routes.
func (t *publishers) unroute() {
	t.latest, t.routes, t.under = nil, make(map[string]*route), make(map[string]map[string]*route)
}

// use returns the publisher of a group, or nil if the engine is closed. done it
// afterwards.
func (t *publishers) use(group string, root bool) *publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	p := t.all[group]
	if p == nil {
		p = newPublisher(t.Base, group, root)
		t.all[group] = p
	}
	p.users.Add(1)
	return p
}

func (t *publishers) done(p *publisher) { p.users.Add(-1) }

// find returns the publisher of a group, or nil if there is none.
func (t *publishers) find(group string) *publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[group]
}

// each returns the publishers in a fixed order.
func (t *publishers) each() []*publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	return env.Sorted(t.all, func(p *publisher) string { return p.name })
}

func (t *publishers) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// event takes in what happened to a link.
func (t *publishers) event(ev overlay.PeerEvent) {
	for _, p := range t.each() {
		p.event(ev)
	}
	t.mu.Lock()
	u := t.uplink
	t.mu.Unlock()
	if u != nil {
		u.event(ev)
	}
}

// pathLost makes another path, and says whether it is of a session of this node.
func (t *publishers) pathLost(from peer.ID, m *wire.PathLost) bool {
	for _, p := range t.each() {
		if p.pathLost(from, m) {
			return true
		}
	}
	return false
}

// sweep lets go of the groups in which nothing was published for long, and says
// how many are left.
func (t *publishers) sweep(now int64) (count int) {
	for _, p := range t.each() {
		owing := p.tidy()
		t.mu.Lock()
		idle := now - p.last.Load()
		over := p.users.Load() == 0 && (idle > int64(env.GhostTime) || idle > int64(env.IdleTime) && (!owing || p.keys.Gone()))
		if over {
			delete(t.all, p.name)
			t.unroute()
		}
		t.mu.Unlock()
		if over {
			p.end()
		}
	}
	return t.sweepUplink(now)
}

func (t *publishers) sweepUplink(now int64) (count int) {
	t.mu.Lock()
	u := t.uplink
	over := u != nil && now-u.last.Load() > int64(env.IdleTime)
	for _, p := range t.all {
		over = over && (p.Root || p.users.Load() == 0) // whoever uses it uses a publisher
	}
	if over {
		if owing, rank := u.owing(); owing {
			over = false
		} else {
			t.uplink, t.rank = nil, rank
		}
	}
	count = len(t.all)
	if t.uplink != nil {
		count++
	}
	t.mu.Unlock()
	if over {
		u.end()
	}
	return count
}

// end lets go of everything.
func (t *publishers) end() {
	t.mu.Lock()
	all, u := t.all, t.uplink
	t.all, t.uplink, t.closed = nil, nil, true
	t.unroute()
	t.mu.Unlock()
	for _, p := range all {
		p.end()
	}
	if u != nil {
		u.end()
	}
}

// listeners is the view of those who listen, and whether it was waited for.
type listeners struct {
	watch env.Watch
	ready atomic.Bool // the view was believed once
	had   atomic.Bool // the last view that was believed had members
}

// some reports whether the view has listeners, or had some when it was last known:
// messages are still addressed to listeners that are only out of sight.
func (l *listeners) some() bool {
	v := l.watch.View()
	if !v.Known {
		return l.had.Load()
	}
	if had := len(v.Members) > 0; had != l.had.Load() {
		l.had.Store(had)
	}
	return len(v.Members) > 0
}

// known reports whether the listeners of a group and of the root group are known now. It
// is true if there are some. If there are none, this node must believe both views: a view
// that was believed once may be in doubt by now.
func known(l *listeners, u *uplink) bool {
	if !l.ready.Load() || u != nil && !u.ready.Load() {
		return false
	}
	return l.some() || u != nil && u.some() || l.watch.View().Believed() && (u == nil || u.watch.View().Believed())
}

// await waits until the view can be believed, and a moment for it to be complete.
func (l *listeners) await(ctx context.Context, b *env.Base) error {
	if l.ready.Load() && (l.some() || l.watch.View().Believed()) {
		return nil
	}
	_, err := l.watch.Wait(ctx, false)
	switch {
	case err == nil || errors.Is(err, cluster.ErrNoMembers):
	case err == cluster.ErrUnreachable:
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrUnreachable): // and it says why
		return fmt.Errorf("%w: %w", patterns.ErrUnreachable, err)
	case errors.Is(err, cluster.ErrClosed):
		return patterns.ErrClosed
	default:
		return &patterns.DeadlineError{Cause: err}
	}
	if v := l.watch.View(); !v.Complete {
		completing, cancel := overlay.WithTimeout(ctx, b.Cfg.Clock, "pubsub.complete", b.Over(env.Completing))
		defer cancel()
		for err = nil; err == nil && !v.Complete; {
			v, err = l.watch.Next(completing, v)
		}
	}
	if ctx.Err() == nil { // else the next message waits, too
		l.some()
		l.ready.Store(true)
	}
	return nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Gateway is a node in two or more networks that lends clusters of one to another. All
// methods may be called concurrently.
type Gateway struct {
	// Immutable after New.
	cfg      Config
	clock    overlay.Clock
	exec     overlay.Exec // nil = goroutines begin as they like
	log      *zap.Logger
	networks map[string]*node.Node
	reaches  map[string]*reach
	topics   topicLends

	mu       sync.Mutex
	lends    map[Crossing]*lend    // guarded by mu: those in force, by their crossings' keys
	patterns map[Crossing]*pattern // guarded by mu: likewise, those that stand for many clusters
	desks    map[string]*desk      // guarded by mu: by the networks that patterns lend to
	leaving  bool                  // guarded by mu: none is taken any more

	// Lifecycle.
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error // of Close
}

// ErrClosed is returned once Close has begun.
var ErrClosed = errors.New("gateway: closed")

// New checks cfg and makes the nodes. It starts nothing. Close the gateway, even if it
// is never started.
func New(cfg Config) (*Gateway, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	g := &Gateway{
		cfg: cfg, log: cfg.Logger.Named("gateway"), networks: map[string]*node.Node{}, reaches: map[string]*reach{},
		lends: map[Crossing]*lend{}, patterns: map[Crossing]*pattern{}, desks: map[string]*desk{},
	}
	g.clock, g.exec = cfg.outside()
	g.topics.all = map[TopicCrossing]*topicLend{}
	g.ctx, g.cancel = lifetime(g.exec)
	for _, n := range cfg.Networks {
		n.Node.Gateway = true // or two gateways could ask each other in turn
		made, err := node.New(n.Node)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.networks[n.Name], g.reaches[n.Name] = made, &reach{network: n.Name, node: made}
	}
	return g, nil
}

// Start starts the nodes, and to lend; ctx bounds only Start itself.
func (g *Gateway) Start(ctx context.Context) error {
	for _, n := range g.cfg.Networks {
		if err := g.networks[n.Name].Start(ctx); err != nil {
			return err
		}
		g.spawn(overlay.ExecKey{Name: "gateway.contact", N: numberOf(n.Name)}, func() { g.reaches[n.Name].run(g) })
	}
	if err := g.CrossTopics(g.cfg.Topics); err != nil {
		return err
	}
	return g.Cross(g.cfg.Crossings)
}

// Node returns the gateway's node in the network of that name; nil if it has none.
func (g *Gateway) Node(network string) *node.Node { return g.networks[network] }

// Cross has these crossings be in force, and no others. Those that were before go on
// undisturbed, with what is under way; what is under way on others is finished, for
// drainTime at most. If anything is wrong with one nothing changes.
func (g *Gateway) Cross(all []Crossing) error {
	wish := Config{Networks: g.cfg.Networks, Crossings: all}
	return g.change(len(all), wish.CheckCrossing, func() { g.cross(all) })
}

// change has put put a change in force, with mu held, unless something is wrong with one
// of so many.
func (g *Gateway) change(count int, check func(i int) error, put func()) error {
	var faults []error
	for i := range count {
		faults = append(faults, check(i))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaving || g.ctx.Err() != nil {
		return ErrClosed
	}
	put()
	return nil
}

// cross is Cross for crossings that are right; it is called with mu held.
func (g *Gateway) cross(all []Crossing) {
	dismiss(g.lends, all, (*lend).stop)
	dismiss(g.patterns, all, (*pattern).endAll)
	for _, c := range all {
		if name.IsPattern(c.Cluster) {
			g.offer(c.key(), c.Limits.withDefaults())
		} else {
			g.lend(c.key(), c.Finding, c.Limits.withDefaults())
		}
	}
	g.tell()
}

// dismiss ends what is in force and not wanted any more.
func dismiss[K comparable, C interface{ key() K }, V any](inForce map[K]V, wanted []C, end func(V)) {
	keys := make(map[K]bool, len(wanted))
	for _, c := range wanted {
		keys[c.key()] = true
	}
	for key, v := range inForce {
		if !keys[key] {
			delete(inForce, key)
			end(v)
		}
	}
}

// Wish is the configuration of a gateway in which it lends this.
func (g *Gateway) Wish(crossings []Crossing, topics []TopicCrossing) Config {
	c := g.cfg
	c.Crossings, c.Topics = crossings, topics
	return c
}

// CrossTopics is Cross for topics.
func (g *Gateway) CrossTopics(all []TopicCrossing) error {
	wish := Config{Networks: g.cfg.Networks, Topics: all}
	return g.change(len(all), wish.CheckTopic, func() { g.topics.replace(g, all) })
}

// lend has a crossing of one cluster be in force; it is called with mu held.
func (g *Gateway) lend(key Crossing, finding *security.FindingFile, limits Limits) {
	l := g.lends[key]
	if l == nil {
		l = newLend(g, key)
		run := l.run
		if finding != nil {
			l.sealed = newSealed(l)
			run = l.sealed.run
		}
		g.lends[key] = l
		defer g.spawn(overlay.ExecKey{Name: "gateway.lend", N: l.number}, run)
	}
	if finding != nil {
		l.sealed.wanted.Store(finding)
	}
	l.border.limit(limits)
}

// offer has a pattern be in force; it is called with mu held.
func (g *Gateway) offer(key Crossing, limits Limits) {
	p := g.patterns[key]
	if p == nil {
		p = &pattern{what: key, lends: map[string]*demand{}}
		g.patterns[key] = p
	}
	p.limits = limits
	for _, d := range p.lends {
		d.border.limit(limits)
	}
	if g.desks[key.To] == nil {
		if len(g.desks) == 0 {
			g.spawn(overlay.ExecKey{Name: "gateway.expire"}, g.expire)
		}
		d := &desk{of: g, network: key.To, node: g.networks[key.To], changed: make(chan struct{}, 1)}
		g.desks[key.To] = d
		g.spawn(overlay.ExecKey{Name: "gateway.desk", N: numberOf(key.To)}, d.run)
	}
}

// tell has the networks know of the patterns; it is called with mu held.
func (g *Gateway) tell() {
	for _, to := range slices.Sorted(maps.Keys(g.desks)) {
		d := g.desks[to]
		d.wanted = nil
		for _, p := range g.byLength() {
			if p.what.To == d.network {
				d.wanted = append(d.wanted, p.what.As)
			}
		}
		select {
		case d.changed <- struct{}{}:
		default: // it has not looked since
		}
	}
}

// byLength returns the patterns, those that say most first; it is called with mu held.
func (g *Gateway) byLength() []*pattern {
	out := slices.Collect(maps.Values(g.patterns))
	slices.SortFunc(out, func(a, b *pattern) int {
		return cmp.Or(cmp.Compare(len(b.what.As), len(a.what.As)), cmp.Compare(a.what.As, b.what.As),
			cmp.Compare(a.what.From, b.what.From), cmp.Compare(a.what.To, b.what.To))
	})
	return out
}

// demand has what callers of a network ask for be lent, where a pattern stands for it.
// full says that some of it can't be.
func (g *Gateway) demand(to, cluster, by string) (lends []*lend, full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaving || g.ctx.Err() != nil {
		return nil, true
	}
	now, named := g.clock.Now(), map[string]bool{}
	for _, l := range g.lends {
		if l.what.To == to && l.what.As == cluster {
			lends, named[l.what.From] = append(lends, l), true // in whatever order: they are only looked at
		}
	}
	for _, p := range g.byLength() {
		c, ok := p.matches(cluster)
		if !ok || c.To != to || named[c.From] {
			continue
		}
		named[c.From] = true
		d := p.lends[cluster]
		if d == nil {
			if !p.room(by, now) {
				full = true
				p.refused++
				continue
			}
			d = &demand{lend: newLend(g, c), by: by}
			d.lend.asked = true
			d.border.limit(p.limits)
			p.lends[cluster] = d
			g.spawn(overlay.ExecKey{Name: "gateway.lend", N: d.number}, d.run)
		}
		d.since = now
		lends = append(lends, d.lend)
	}
	return lends, full
}

// expire ends what was asked for once and is not used any more, for as long as the
// gateway runs.
func (g *Gateway) expire() {
	for overlay.Sleep(g.ctx, g.clock, "gateway.expire", expireEvery) {
		g.mu.Lock()
		for _, p := range g.byLength() {
			p.expire(g.clock.Now())
		}
		g.mu.Unlock()
	}
}

// sorted returns what is lent, in the order of networks and clusters.
func (g *Gateway) sorted() []*lend {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := slices.Collect(maps.Values(g.lends))
	for _, p := range g.patterns {
		for _, d := range p.lends {
			out = append(out, d.lend)
		}
	}
	slices.SortFunc(out, func(a, b *lend) int {
		return cmp.Or(cmp.Compare(a.what.From, b.what.From), cmp.Compare(a.what.To, b.what.To), cmp.Compare(a.what.As, b.what.As))
	})
	return out
}

// drain leaves a cluster and waits for what is under way.
func (g *Gateway) drain(reg *node.Forwarded) {
	if reg == nil {
		return
	}
	ctx, cancel := overlay.WithTimeout(g.ctx, g.clock, "gateway.drain", drainTime)
	defer cancel()
	_ = reg.Close(ctx) // what is not over then is interrupted
}

// Shutdown takes back what is lent, finishes what is under way until ctx ends, and
// closes.
func (g *Gateway) Shutdown(ctx context.Context) error {
	all := g.sorted()
	_ = g.Cross(nil)
	g.mu.Lock()
	g.leaving = true
	g.mu.Unlock()
	g.topics.drain(ctx)
	for _, l := range all {
		l.waitOver(ctx)
	}
	var wg sync.WaitGroup
	errs := make([]error, len(g.cfg.Networks))
	for i, n := range g.cfg.Networks {
		wg.Add(1)
		g.spawn(overlay.ExecKey{Name: "gateway.shutdown", N: uint64(i)}, func() {
			defer wg.Done()
			errs[i] = g.networks[n.Name].Shutdown(ctx)
		})
	}
	wg.Wait()
	return errors.Join(append(errs, g.Close())...)
}

// Close ends everything at once. It is idempotent and waits.
func (g *Gateway) Close() error {
	g.once.Do(func() {
		g.mu.Lock()
		g.cancel()
		g.mu.Unlock()
		if g.exec != nil {
			g.wg.Wait() // what ends in steps must not race with the nodes' end
		}
		var errs []error
		for _, n := range g.cfg.Networks {
			if made := g.networks[n.Name]; made != nil {
				errs = append(errs, made.Close())
			}
		}
		g.wg.Wait()
		g.err = errors.Join(errs...)
	})
	return g.err
}

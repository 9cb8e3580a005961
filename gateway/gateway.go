// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
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
	topics   topicLends

	mu      sync.Mutex
	lends   map[Crossing]*lend // guarded by mu: those in force, by their crossing without its limits
	leaving bool               // guarded by mu: none is taken any more

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
	g := &Gateway{cfg: cfg, clock: cfg.clock(), exec: cfg.exec(), log: cfg.Logger.Named("gateway"), networks: map[string]*node.Node{}, lends: map[Crossing]*lend{}}
	g.topics.all = map[TopicCrossing]*topicLend{}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for _, n := range cfg.Networks {
		made, err := node.New(n.Node)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.networks[n.Name] = made
	}
	return g, nil
}

// Start starts the nodes, and to lend; ctx bounds only Start itself.
func (g *Gateway) Start(ctx context.Context) error {
	for _, n := range g.cfg.Networks {
		if err := g.networks[n.Name].Start(ctx); err != nil {
			return err
		}
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
	var faults []error
	for i := range all {
		faults = append(faults, wish.CheckCrossing(i))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaving || g.ctx.Err() != nil {
		return ErrClosed
	}
	wanted := map[Crossing]bool{}
	for _, c := range all {
		wanted[c.key()] = true
	}
	for key, l := range g.lends {
		if !wanted[key] {
			delete(g.lends, key)
			l.stop()
		}
	}
	for _, c := range all {
		key := c.key()
		l := g.lends[key]
		if l == nil {
			l = newLend(g, key)
			g.lends[key] = l
			g.spawn(overlay.ExecKey{Name: "gateway.lend", N: key.number()}, l.run)
		}
		l.border.limit(c.Limits.withDefaults())
	}
	return nil
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
	var faults []error
	for i := range all {
		faults = append(faults, wish.CheckTopic(i))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaving || g.ctx.Err() != nil {
		return ErrClosed
	}
	g.topics.replace(g, all)
	return nil
}

// sorted returns what is lent, in the order of networks and clusters.
func (g *Gateway) sorted() []*lend {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]*lend, 0, len(g.lends))
	for _, l := range g.lends {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *lend) int {
		return cmp.Or(cmp.Compare(a.what.From, b.what.From), cmp.Compare(a.what.To, b.what.To), cmp.Compare(a.what.As, b.what.As))
	})
	return out
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
		select {
		case <-l.over:
		case <-ctx.Done():
		}
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

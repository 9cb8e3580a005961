// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// lend is one crossing in force: it watches a cluster in one network and is its member
// in another one.
type lend struct {
	// Immutable.
	of       *Gateway
	what     Crossing // without its limits
	from, to *node.Node
	address  string // of the cluster in its own network: its own members only
	border   *border
	tunnels  *tunnels
	log      *zap.Logger
	ctx      context.Context // ends when it is no longer in force
	cancel   context.CancelFunc
	over     chan struct{} // closed when run has returned

	mu    sync.Mutex
	reg   *node.Forwarded // guarded by mu; nil = it is not lent now
	shown seen            // guarded by mu: what was seen last
	fault error           // guarded by mu: why it could not be lent, if so
	trip  time.Duration   // guarded by mu: of a message there and back, without its handler's time; smoothed
}

var _ request.Forwarder = (*lend)(nil)

// Times of a lend.
const (
	lookTime  = 500 * time.Millisecond // between looks: whose link is down no view tells
	lendTime  = 10 * time.Second       // for a registration to be acknowledged
	drainTime = 10 * time.Second       // for what is under way, when it is no longer lent
	retryTime = time.Second            // after a registration that failed
)

func newLend(g *Gateway, c Crossing) *lend {
	l := &lend{
		of: g, what: c, from: g.networks[c.From], to: g.networks[c.To], border: newBorder(),
		log: g.log.With(zap.Stringer("crossing", c)), over: make(chan struct{}),
	}
	l.address = c.Cluster + "@" + l.from.Home()
	l.tunnels = newTunnels(l)
	l.ctx, l.cancel = context.WithCancel(g.ctx)
	return l
}

// stop ends it; what is under way is finished, for drainTime at most.
func (l *lend) stop() { l.cancel() }

// run keeps it lent while it has members.
func (l *lend) run() {
	defer close(l.over)
	w := l.from.Watch(l.what.Cluster)
	defer w.Release()
	var core offer
	for {
		v := w.View()
		s := look(v)
		l.mu.Lock()
		l.shown = s
		l.mu.Unlock()
		if !l.do(core.step(l.of.clock.Now(), s), &core) {
			core.failed()
			if !overlay.Sleep(l.ctx, l.of.clock, "gateway.retry", retryTime) {
				break
			}
			continue
		}
		ctx, cancel := overlay.WithTimeout(l.ctx, l.of.clock, "gateway.look", lookTime)
		_, err := w.Next(ctx, v)
		cancel()
		if l.ctx.Err() != nil || err != nil && ctx.Err() == nil {
			break
		}
	}
	l.drain(l.take())
	l.tunnels.close()
}

// do carries an order out, and says whether it could.
func (l *lend) do(o order, core *offer) bool {
	switch reg := l.registration(); o {
	case orderLend:
		return l.begin(core)
	case orderRevise:
		reg.Revise(core.capacity, core.maxMessage)
	case orderDoubt:
		reg.Suspect(core.suspect)
	case orderReturn:
		l.log.Info("no longer lent: it has no member")
		l.take()
		l.of.wg.Go(func() { l.drain(reg) }) // a cluster that comes back is not kept waiting
	}
	return true
}

// begin registers the member in the other network.
func (l *lend) begin(core *offer) bool {
	// Not l.ctx: callers may know the member before it is acknowledged, and what they have
	// sent is finished.
	ctx, cancel := overlay.WithTimeout(l.of.ctx, l.of.clock, "gateway.lend", lendTime)
	defer cancel()
	// The crossing's limits are looked at where they can be counted by name; a message
	// that is too large the far member refuses.
	limits := patterns.Limits{Concurrency: 1 << 20, QueueBytes: 1 << 40, MessageBytes: request.MaxMessage, Tunnels: 1 << 20}
	reg, err := l.to.Lend(ctx, l.what.As, cluster.Registration{
		Network: l.what.From, Priority: l.what.Priority, Capacity: core.capacity, MaxMessage: core.maxMessage,
	}, carried, limits, l)
	l.mu.Lock()
	l.fault = err
	if err == nil {
		l.reg = reg
	}
	l.mu.Unlock()
	if err != nil {
		if l.ctx.Err() == nil {
			l.log.Warn("could not be lent, tries again", zap.Error(err))
		}
		return false
	}
	l.log.Info("lent", zap.Int("capacity", core.capacity))
	return true
}

func (l *lend) registration() *node.Forwarded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reg
}

// take returns the registration, once.
func (l *lend) take() *node.Forwarded {
	l.mu.Lock()
	defer l.mu.Unlock()
	reg := l.reg
	l.reg = nil
	return reg
}

// drain leaves the cluster and waits for what is under way.
func (l *lend) drain(reg *node.Forwarded) {
	if reg == nil {
		return
	}
	ctx, cancel := overlay.WithTimeout(l.of.ctx, l.of.clock, "gateway.drain", drainTime)
	defer cancel()
	_ = reg.Close(ctx) // what is not over then is interrupted
}

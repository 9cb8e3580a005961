// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// inForce is what a crossing of a cluster and one of topics have in common while they are
// in force.
type inForce struct {
	of       *Gateway
	from, to *node.Node
	border   *border
	log      *zap.Logger
	number   uint64          // tells it from the others in keys of package sim
	ctx      context.Context // ends when it is no longer in force
	cancel   context.CancelFunc
	over     chan struct{} // closed when run has returned
}

func newInForce(g *Gateway, from, to string, crossing fmt.Stringer) inForce {
	x := inForce{
		of: g, from: g.networks[from], to: g.networks[to], border: newBorder(), number: numberOf(crossing.String()),
		log: g.log.With(zap.Stringer("crossing", crossing)), over: make(chan struct{}),
	}
	x.ctx, x.cancel = context.WithCancel(g.ctx)
	return x
}

// stop ends it; what is under way is finished, for drainTime at most.
func (x *inForce) stop() {
	x.of.stepwise(overlay.ExecKey{Name: "gateway.stop", N: x.number}, x.cancel)()
}

// waitOver waits until it has ended, or ctx has.
func (x *inForce) waitOver(ctx context.Context) {
	select {
	case <-x.over:
	case <-ctx.Done():
	}
}

// watches waits for another view than v, for lookTime at most; false = there comes none.
func (x *inForce) watches(w *cluster.Watch, v *cluster.View, label string) bool {
	ctx, cancel := overlay.WithTimeout(x.ctx, x.of.clock, label, lookTime)
	defer cancel()
	_, err := w.Next(ctx, v)
	return x.ctx.Err() == nil && (err == nil || ctx.Err() != nil)
}

// tries does it until it can be done, ever more rarely; false = ctx has ended before.
func (x *inForce) tries(ctx context.Context, do func() error) bool {
	for n := 0; ctx.Err() == nil; n++ {
		if do() == nil {
			return true
		}
		overlay.Sleep(ctx, x.of.clock, "gateway.retry", retryAfter(n))
	}
	return false
}

// warn says why it could not be lent, unless it is not to be lent any more.
func (x *inForce) warn(err error, about ...zap.Field) {
	if err != nil && x.ctx.Err() == nil {
		x.log.Warn("could not be lent, tries again", append(about, zap.Error(err))...)
	}
}

// carried are the patterns that cross.
var carried = request.ServesOf(patterns.PatternRequest, patterns.PatternPush, patterns.PatternSurvey, patterns.PatternBroadcast,
	patterns.PatternTunnel)

// unbounded are the limits of a member that a gateway lends: the crossing's are looked at
// where they can be counted by name; a message that is too large the far member refuses.
var unbounded = patterns.Limits{Concurrency: 1 << 20, QueueBytes: 1 << 40, MessageBytes: request.MaxMessage, Tunnels: 1 << 20}

// lends makes the loan, or what is lent unopened, a member of the cluster in the network
// that borrows, until ctx ends.
func (x *inForce) lends(ctx context.Context, cluster string, as cluster.Registration, f request.Forwarder) (*node.Forwarded, error) {
	ctx, cancel := overlay.WithTimeout(ctx, x.of.clock, "gateway.lend", lendTime)
	defer cancel()
	return x.to.Lend(ctx, cluster, as, carried, unbounded, f)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// completeTime is how long Members waits for the anchors that have not told
// what they hold.
const completeTime = 500 * time.Millisecond

// Members lists who serves the cluster, in the order of member ids. Its errors
// are those of Do. Without a deadline in ctx it has 5 s.
func (e *Engine) Members(ctx context.Context, name string) ([]patterns.Member, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if e.closed.Load() {
		return nil, patterns.ErrClosed
	}
	r := e.route(name)
	defer func() { e.putRoute(r, e.now()) }()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "request.members", DefaultTimeout)
		defer cancel()
	}
	v, err := r.watch.Wait(ctx, false)
	if err != nil {
		return nil, viewError(ctx, err)
	}
	if v = e.complete(ctx, r.watch, v); len(v.Members) == 0 {
		return nil, patterns.ErrNoMembers // the last one left meanwhile
	}
	out := make([]patterns.Member, 0, len(v.Members))
	for _, m := range v.Members {
		out = append(out, patterns.Member{
			ID: m.ID.String(), Peer: m.Peer.String(), Incarnation: m.Incarnation,
			Zone: m.Zone, Capacity: m.Capacity, State: e.cfg.Directory.State(m),
		})
	}
	return out, nil
}

// complete waits a moment for a view that misses nobody.
func (e *Engine) complete(ctx context.Context, w Watch, v *cluster.View) *cluster.View {
	for pause, waited := firstPause, time.Duration(0); !v.Complete && waited < completeTime; waited += pause {
		if !e.sleep(ctx, pause) {
			break
		}
		v = w.View()
	}
	return v
}

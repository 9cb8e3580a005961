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

// completeTime is how long View waits, at most and within half of its time,
// for anchors that can know to have told what they hold: new ones can after
// 1.5 s.
const completeTime = 2 * time.Second

// toldTime is how long Members waits for a majority of the anchors to tell what
// they hold: who looks at a list wants it soon.
const toldTime = 500 * time.Millisecond

// Members lists who serves the cluster, in the order of member ids. Its errors
// are those of Do. Without a deadline in ctx it has 5 s.
func (e *Engine) Members(ctx context.Context, name string) ([]patterns.Member, error) {
	v, err := e.look(ctx, name, toldTime, func(v *cluster.View) bool { return v.Told })
	if err != nil {
		return nil, err
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

// View returns who serves the cluster: at least one member, and everybody if
// it says that it is complete, for which it waits a moment. Errors and default
// deadline are those of Do.
func (e *Engine) View(ctx context.Context, name string) (*cluster.View, error) {
	return e.look(ctx, name, completeTime, isComplete)
}

func isComplete(v *cluster.View) bool { return v.Complete }

// look is View with what is enough, and how long that is waited for.
func (e *Engine) look(ctx context.Context, name string, patience time.Duration, enough func(*cluster.View) bool) (*cluster.View, error) {
	q := Ask{Cluster: name}
	if err := e.check(ctx, q); err != nil {
		return nil, err
	}
	e.takeTurn("request.view", q.fingerprint())
	r := e.route(name)
	defer func() { e.putRoute(r, e.now()) }()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "request.view", DefaultTimeout)
		defer cancel()
	}
	return e.view(ctx, r, patience, enough)
}

// view is look for a route; ctx has a deadline.
func (e *Engine) view(ctx context.Context, r *route, patience time.Duration, enough func(*cluster.View) bool) (*cluster.View, error) {
	for {
		v, err := r.watch.Wait(ctx, false)
		if err != nil {
			return nil, viewError(ctx, err)
		}
		// Those who were known may have gone meanwhile; whether others are there
		// is known only if the view says so.
		if v = e.await(ctx, r.watch, v, patience, enough); len(v.Members) > 0 {
			return v, nil
		}
	}
}

// await waits a moment for a view that is enough.
func (e *Engine) await(ctx context.Context, w Watch, v *cluster.View, patience time.Duration, enough func(*cluster.View) bool) *cluster.View {
	if deadline, limited := ctx.Deadline(); limited {
		patience = min(patience, deadline.Sub(e.cfg.Clock.Now())/2)
	}
	for pause, waited := firstPause, time.Duration(0); !enough(v) && waited < patience; waited += pause {
		if !overlay.Sleep(ctx, e.cfg.Clock, "request.sleep", pause) {
			break
		}
		v = w.View()
	}
	return v
}

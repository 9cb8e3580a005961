// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// A view is waited for that is enough, within half of the time there is.
var (
	// completing is for anchors that can know to have told what they hold: new ones are
	// dialled, and can after 1.5 s, or some round trips.
	completing = overlay.Patience{Time: 2 * time.Second, Trips: 10}
	// telling is for a majority of the anchors to tell what they hold: who looks at a list
	// of members wants it soon.
	telling = overlay.Patience{Time: 500 * time.Millisecond, Trips: 2}
)

// over is how long p is with these links.
func over(p overlay.Patience, links Links) time.Duration {
	if l, ok := links.(interface {
		LongestTrip() (time.Duration, bool)
	}); ok {
		trip, _ := l.LongestTrip()
		return p.Over(trip)
	}
	return p.Time
}

func isTold(v *cluster.View) bool { return v.Told }

func isComplete(v *cluster.View) bool { return v.Final() }

// members is described at Engine.Members.
func (k *calls) members(ctx context.Context, address string) ([]patterns.Member, error) {
	for {
		v, err := k.viewOf(ctx, address, telling, isTold)
		if err != nil {
			return nil, err
		}
		_, network, _ := name.Split(address)
		out, gone := k.list(v, network)
		switch {
		case len(out) > 0:
			return out, nil
		case gone == 0:
			return out, nobodyIn(v, network, nil)
		case !overlay.Sleep(ctx, k.cfg.Clock, "request.sleep", firstPause): // the next view is about to come
			return nil, viewError(ctx, ctx.Err())
		}
	}
}

// list describes the members of a network, "" = of all, and counts those that have gone
// since the view was made, which are left out.
func (k *calls) list(v *cluster.View, network string) (out []patterns.Member, gone int) {
	out = make([]patterns.Member, 0, len(v.Members))
	for _, m := range v.Members {
		if network != "" && m.Network != network {
			continue
		}
		state := k.cfg.Directory.State(m)
		if state == "gone" {
			gone++
			continue
		}
		out = append(out, patterns.Member{
			ID: m.ID.String(), Peer: m.Peer.String(), Name: cmp.Or(m.Name, k.cfg.NameOf(m.Peer)), Incarnation: m.Incarnation,
			Zone: m.Zone, Network: m.Network, Capacity: m.Capacity, State: state,
		})
	}
	return out, gone
}

// nobodyIn is the outcome where none of the members is from the network that was named,
// and permitted.
func nobodyIn(v *cluster.View, network string, t *cluster.Transit) error {
	if v.HasNone(network, t) {
		return patterns.ErrNoMembers
	}
	return patterns.ErrUnreachable
}

// lookTime is how often membersAfter looks at what this node knows. It asks nobody:
// changes are pushed, but who is suspect or ejected is decided here.
const lookTime = 100 * time.Millisecond

// membersAfter is described at patterns.Messenger.
func (k *calls) membersAfter(ctx context.Context, name, version string) ([]patterns.Member, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, k.cfg.Clock, "request.view", DefaultTimeout)
		defer cancel()
	}
	deadline, _ := ctx.Deadline()
	enough := deadline.Add(-deadline.Sub(k.cfg.Clock.Now()) / 2)
	for {
		all, err := k.members(ctx, name)
		if patterns.VersionOf(all, err) != version || !k.cfg.Clock.Now().Before(enough) || k.closed.Load() ||
			!overlay.Sleep(ctx, k.cfg.Clock, "request.sleep", lookTime) {
			return all, err
		}
	}
}

// viewOf returns a view that has members. It waits for one that is enough for so
// long.
func (k *calls) viewOf(ctx context.Context, name string, wait overlay.Patience, enough func(*cluster.View) bool) (*cluster.View, error) {
	a := Ask{Cluster: name}
	if _, err := k.check(&a); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &patterns.DeadlineError{Cause: err}
	}
	k.turns.Call("request.view", a.Cluster, nil, 0)
	r := k.routeTo(a.Cluster)
	defer func() { k.putRoute(r, k.now()) }()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, k.cfg.Clock, "request.view", DefaultTimeout)
		defer cancel()
	}
	return k.view(ctx, r, wait, enough)
}

// view is viewOf for a route; ctx has a deadline.
func (k *calls) view(ctx context.Context, r *route, wait overlay.Patience, enough func(*cluster.View) bool) (*cluster.View, error) {
	for {
		v, err := r.watch.Wait(ctx, false)
		if err != nil {
			return nil, viewError(ctx, err)
		}
		// Those who were known may have gone meanwhile; whether others are there
		// is known only if the view says so.
		if v = k.await(ctx, r.watch, v, wait, enough); len(v.Members) > 0 {
			return v, nil
		}
	}
}

// await waits a moment for a view that is enough.
func (k *calls) await(ctx context.Context, w Watch, v *cluster.View, wait overlay.Patience, enough func(*cluster.View) bool) *cluster.View {
	most := time.Duration(math.MaxInt64)
	if deadline, limited := ctx.Deadline(); limited {
		most = deadline.Sub(k.cfg.Clock.Now()) / 2
	}
	for pause, waited := firstPause, time.Duration(0); !enough(v) && waited < min(most, over(wait, k.cfg.Links)); waited += pause {
		if !overlay.Sleep(ctx, k.cfg.Clock, "request.sleep", pause) {
			break
		}
		v = w.View()
	}
	return v
}

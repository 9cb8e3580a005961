// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// route is what the engine keeps for one cluster that is called from here.
type route struct {
	use

	// Immutable.
	name   string
	watch  Watch
	keys   *security.Cluster
	seal   bool
	ledger *Ledger // nil = calls are not counted here

	mu      sync.Mutex
	budgets budgets // guarded by mu
}

// end implements entry.
func (r *route) end() { r.watch.Release() }

// countRequest counts one of a client, 0 = of this node, in its budget.
func (r *route) countRequest(client uint64, now int64) {
	r.mu.Lock()
	r.budgets.of(client, now).request(now)
	r.mu.Unlock()
}

func (r *route) allowRetry(client uint64, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.budgets.of(client, now).retry(now)
}

// block is what a leaf tells its relay of whom to ask.
func (r *route) block(q *question) *wire.Route {
	m := &wire.Route{Policy: uint8(q.policy.Policy), StickyKey: q.policy.StickyKey, Cluster: r.name}
	if q.wait {
		m.Options |= wire.RouteWait
	}
	if l := q.limits; l != nil {
		m.Options |= wire.RouteLimits
		m.MaxReplies, m.MaxBytes = uint32(l.MaxReplies), uint64(l.MaxBytes)
	}
	return m
}

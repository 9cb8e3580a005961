// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"sync"

	"github.com/arke-mesh/arke/security"
)

// route is what the engine keeps for one cluster that is called from here.
type route struct {
	use

	// Immutable.
	name  string
	watch Watch
	keys  *security.Cluster
	seal  bool

	mu     sync.Mutex
	budget budget // guarded by mu
}

// end implements entry.
func (r *route) end() { r.watch.Release() }

func (r *route) countRequest(now int64) {
	r.mu.Lock()
	r.budget.request(now)
	r.mu.Unlock()
}

func (r *route) allowRetry(now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.budget.retry(now)
}

// route returns the route to a cluster; putRoute it afterwards.
func (e *Engine) route(name string) *route {
	r, created := e.routes.get(name, func() *route {
		keys := e.cfg.Keys(name)
		return &route{
			name: name, watch: e.cfg.Directory.Watch(name), keys: keys, seal: e.mustSeal(keys),
		}
	})
	if created {
		e.armSweep()
	}
	return r
}

func (e *Engine) putRoute(r *route, now int64) {
	e.routes.put(r, now)
	if e.closed.Load() {
		e.routes.sweep(never, 0) // the last one to leave puts the light out
	}
}

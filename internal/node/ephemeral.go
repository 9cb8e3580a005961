// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"sync"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/security"
)

// ephemerals has the node's ephemeral keys replaced and erased in time, and the records
// of its members carry the present one.
type ephemerals struct {
	*security.Ephemerals
	l *layers

	mu    sync.Mutex
	timer overlay.Timer // guarded by mu
	over  bool          // guarded by mu
}

func newEphemerals(l *layers) *ephemerals {
	return &ephemerals{Ephemerals: security.NewEphemerals(l.outside.Rand.Stream("node.ephemeral"), l.outside.Clock.Now()), l: l}
}

// of is what a record of a member of that cluster carries: what is published to topics
// is for all subscribers at once, and sealed with the cluster's key alone.
func (e *ephemerals) of(cluster string) (none security.EphemeralKey) {
	if strings.HasPrefix(cluster, pubsub.Prefix) {
		return none
	}
	return e.Public()
}

func (e *ephemerals) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn()
}

// turn does what is due, and plans the next time. mu is held.
func (e *ephemerals) turn() {
	now := e.l.outside.Clock.Now()
	next, changed := e.Advance(now)
	if changed {
		e.l.clusters.Rekeyed()
	}
	if e.over {
		return
	}
	e.timer = e.l.outside.Clock.AfterFunc("node.ephemeral", max(next.Sub(now), 0), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.over {
			e.turn()
		}
	})
}

// stop ends that. Erase the keys when nothing is under way any more.
func (e *ephemerals) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.timer != nil {
		e.timer.Stop()
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

const (
	lookupTime    = 500 * time.Millisecond // one hung peer must not delay what the others say
	lookupWorkers = 2
)

// lookups asks the network who is close to cluster ids, on goroutines of its
// own. The queue is bounded by the ids in use: each waits at most once.
type lookups struct {
	clock   overlay.Clock
	exec    overlay.Exec
	closest func(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error)
	done    func(cid security.ClusterID, peers []peer.ID)
	rings   []chan struct{} // one for each worker, with room for one

	mu    sync.Mutex // guards what follows
	queue []security.ClusterID
	idle  []int // workers that wait for their ring
}

func newLookups(s overlay.Seam, closest func(context.Context, overlay.Key, int) ([]peer.ID, error),
	done func(security.ClusterID, []peer.ID),
) *lookups {
	l := &lookups{clock: s.Clock, exec: s.Exec, closest: closest, done: done}
	for i := range lookupWorkers {
		l.rings = append(l.rings, make(chan struct{}, 1))
		l.idle = append(l.idle, i)
	}
	return l
}

// add has cid looked up; done is called with the result.
func (l *lookups) add(cid security.ClusterID) {
	l.mu.Lock()
	l.queue = append(l.queue, cid)
	worker := -1
	if n := len(l.idle); n > 0 {
		worker = l.idle[n-1]
		l.idle = l.idle[:n-1]
	}
	l.mu.Unlock()
	if worker >= 0 {
		l.exec.Wake(overlay.ExecKey{Name: "cluster.lookup", N: uint64(worker)}, func() { l.rings[worker] <- struct{}{} })
	}
}

// run is one worker; it ends with ctx.
func (l *lookups) run(ctx context.Context, worker int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.rings[worker]:
		}
		for {
			cid, ok := l.take(worker)
			if !ok || ctx.Err() != nil {
				break
			}
			l.look(ctx, cid)
		}
	}
}

// take returns the next id, or makes the worker idle.
func (l *lookups) take(worker int) (security.ClusterID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.idle = append(l.idle, worker)
		return security.ClusterID{}, false
	}
	cid := l.queue[0]
	l.queue = l.queue[1:]
	return cid, true
}

func (l *lookups) look(ctx context.Context, cid security.ClusterID) {
	ctx, cancel := overlay.WithTimeout(ctx, l.clock, "cluster.lookup", lookupTime)
	defer cancel()
	peers, _ := l.closest(ctx, overlay.Key(cid), nearestCount) // what was found until an error counts
	l.done(cid, peers)
}

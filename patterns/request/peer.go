// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// remote is what the engine keeps for one peer, as long as requests go to or
// come from it.
type remote struct {
	use

	// Immutable.
	id   peer.ID
	text string // id, as handlers see it
	link Link

	mu      sync.Mutex
	release func()          // guarded by mu; not nil while the link is held
	jobs    map[uint64]*job // guarded by mu; requests from there that have not been answered, by id
}

func newRemote(id peer.ID, l Link) *remote {
	return &remote{id: id, text: id.String(), link: l, jobs: make(map[uint64]*job)}
}

// hold has heartbeats run, so that a peer that hangs is noticed while it owes
// an answer. It ends with the entry, not with each request.
func (r *remote) hold() {
	r.mu.Lock()
	held := r.release != nil
	if !held {
		r.release = func() {} // claims it: nothing is called with mu held
	}
	r.mu.Unlock()
	if held {
		return
	}
	release := r.link.Hold()
	r.mu.Lock()
	r.release = release
	r.mu.Unlock()
}

// end implements entry.
func (r *remote) end() {
	r.mu.Lock()
	release := r.release
	r.release = nil
	r.mu.Unlock()
	if release != nil {
		release()
	}
}

// add notes a job, unless one of that id is under way.
func (r *remote) add(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.jobs[j.id]; ok {
		return false
	}
	r.jobs[j.id] = j
	return true
}

func (r *remote) remove(j *job) {
	r.mu.Lock()
	if r.jobs[j.id] == j {
		delete(r.jobs, j.id)
	}
	r.mu.Unlock()
}

func (r *remote) job(id uint64) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}

// all returns the jobs in the order of their ids.
func (r *remote) all() []*job {
	r.mu.Lock()
	out := make([]*job, 0, len(r.jobs))
	for _, j := range r.jobs {
		out = append(out, j)
	}
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b *job) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return out
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// peers is what the engine keeps for the nodes that requests go to or come from.
type peers struct {
	*env
	upkeep *sweeper
	table  table[peer.ID, *remote]
}

// get returns what is kept for a peer; put it afterwards.
func (p *peers) get(id peer.ID) *remote {
	r, created := p.table.get(id, func() *remote { return newRemote(id, p.cfg.Links.Link(id)) })
	if created {
		p.upkeep.arm()
	}
	return r
}

func (p *peers) put(r *remote, now int64) {
	p.table.put(r, now)
	if p.closed.Load() {
		p.table.sweep(never, 0) // the last one to leave puts the light out
	}
}

// remote is what the engine keeps for one peer, as long as requests go to or
// come from it.
type remote struct {
	use

	// Immutable.
	id   peer.ID
	text string // id, as handlers see it
	link Link

	told toldKeys

	mu       sync.Mutex
	release  func()              // guarded by mu; not nil while the link is held
	jobs     map[uint64]*job     // guarded by mu; requests from there that have not been answered, by id
	attempts map[uint64]*attempt // guarded by mu; requests to there that have not ended, by id
}

func newRemote(id peer.ID, l Link) *remote {
	return &remote{
		id: id, text: id.String(), link: l,
		jobs: make(map[uint64]*job), attempts: make(map[uint64]*attempt),
	}
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

// addJob notes a job, unless one of that id is under way.
func (r *remote) addJob(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.jobs[j.id]; ok {
		return false
	}
	r.jobs[j.id] = j
	return true
}

func (r *remote) removeJob(j *job) {
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

// allJobs returns the jobs in the order of their ids.
func (r *remote) allJobs() []*job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sorted(r.jobs)
}

func (r *remote) addAttempt(a *attempt) {
	r.mu.Lock()
	r.attempts[a.id] = a
	r.mu.Unlock()
}

func (r *remote) removeAttempt(id uint64) {
	r.mu.Lock()
	delete(r.attempts, id)
	r.mu.Unlock()
}

// underWay is an attempt that has not ended, and which request of its call it is
// of: what is found here may be over, and its call another's, before its event
// comes there.
type underWay struct {
	call    *call
	attempt *attempt
	of      uint64
	many    bool // it has many replies
}

// find is called with mu held: what has not left the table is not over yet.
func (r *remote) find(id uint64) (u underWay, ok bool) {
	a, ok := r.attempts[id]
	if ok {
		u = underWay{a.call, a, a.call.first.id, a.many}
	}
	return u, ok
}

// takeAttempt removes the attempt and returns it, if it has not ended. Whoever
// takes it out has its only reply. One that has many replies stays, also if more says
// that this is not the last one.
func (r *remote) takeAttempt(id uint64, more bool) (u underWay, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u, ok = r.find(id); !more && !u.many {
		delete(r.attempts, id)
	}
	return u, ok
}

// allAttempts returns the attempts in the order of their ids.
func (r *remote) allAttempts() []underWay {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]underWay, 0, len(r.attempts))
	for _, a := range sorted(r.attempts) {
		u, _ := r.find(a.id)
		out = append(out, u)
	}
	return out
}

// sorted returns the values in the order of their keys, so that what is done
// with them has an order.
func sorted[K cmp.Ordered, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// patience is how long what may be repeated is left with a peer that is not heard
// before another one is asked.
func (r *remote) patience() time.Duration {
	patience := minPatience
	if l, ok := r.link.(interface{ RTT() time.Duration }); ok {
		patience = max(patience, 2*l.RTT())
	}
	return min(patience, maxPatience)
}

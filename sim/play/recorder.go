// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// recorder writes the history. Its methods may be called concurrently; none
// blocks.
type recorder struct {
	mu           sync.Mutex
	h            history.History
	requests     map[uint64]int       // guarded by mu; id to index
	open         []openFault          // guarded by mu
	publications map[uint64]int       // guarded by mu; id to index
	tunnels      map[uint64]int       // guarded by mu; id to index
	passages     map[flowKey]*passage // guarded by mu
	carried      map[carriedKey]int   // guarded by mu; to index
}

func newRecorder() *recorder {
	return &recorder{
		requests: make(map[uint64]int), publications: make(map[uint64]int), tunnels: make(map[uint64]int), passages: make(map[flowKey]*passage),
		carried: make(map[carriedKey]int),
	}
}

func (r *recorder) phases(start, safety time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Start, r.h.Safety = start, safety
}

func (r *recorder) rough(pairs [][2]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Rough = pairs
}

func (r *recorder) ended(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.End = at
}

func (r *recorder) born(n history.Node) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Nodes = append(r.h.Nodes, n)
	return len(r.h.Nodes) - 1
}

func (r *recorder) survived(node int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Nodes[node].Correct = true
}

func (r *recorder) asked(t history.Tenure) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Tenures = append(r.h.Tenures, t)
	return len(r.h.Tenures) - 1
}

func (r *recorder) served(tenure int, member string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Tenures[tenure].Member, r.h.Tenures[tenure].From = member, at
}

func (r *recorder) refused(tenure int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Tenures[tenure].Err = err.Error()
}

func (r *recorder) leaving(tenures []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tenures {
		r.h.Tenures[t].Leaving = at
	}
}

func (r *recorder) departing(node int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Nodes[node].Leaving = at
}

// ousted notes that a client's member is another one now: its relay had
// forgotten the one before.
func (r *recorder) ousted(tenure int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Tenures[tenure].Until = at
}

// over says whether the liveness phase has ended.
func (r *recorder) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.End > 0
}

func (r *recorder) died(node int, tenures []int, how string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Nodes[node].Until, r.h.Nodes[node].How = at, how
	for _, t := range tenures {
		r.h.Tenures[t].Until = at
	}
}

func (r *recorder) sent(q history.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.Ended = -1
	r.requests[q.ID] = len(r.h.Requests)
	r.h.Requests = append(r.h.Requests, q)
}

func (r *recorder) outcome(q history.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.requests[q.ID]
	q.Outcomes = r.h.Requests[i].Outcomes + 1
	r.h.Requests[i] = q
}

// lastDeadline is when everything that was sent must have ended.
func (r *recorder) lastDeadline(now time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := now
	for i := range r.h.Requests {
		if q := &r.h.Requests[i]; q.Ended < 0 {
			last = max(last, q.Deadline)
		}
	}
	for i := range r.h.Publications {
		if q := &r.h.Publications[i]; q.Ended < 0 {
			last = max(last, q.Deadline)
		}
	}
	for i := range r.h.Tunnels {
		if t := &r.h.Tunnels[i]; t.Ended < 0 {
			last = max(last, t.Deadline)
		}
	}
	return last
}

func (r *recorder) began(request uint64, tenure int, at, expires time.Duration) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Runs = append(r.h.Runs, history.Run{Request: request, Tenure: tenure, Began: at, Ended: -1, Expires: expires})
	return len(r.h.Runs) - 1
}

func (r *recorder) finished(run int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Runs[run].Ended = at
}

func (r *recorder) views(changes []history.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Views = append(r.h.Views, changes...)
}

func (r *recorder) sample(s history.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Samples = append(r.h.Samples, s)
}

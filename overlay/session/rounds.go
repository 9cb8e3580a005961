// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
)

// Rounds has requests and replies that are sent during one round leave together. A round
// is what the reader of one session does between two looks at its connection, if that
// gave it several frames: forwards them, wakes who waits for them, has them answered.
// The first of what it sends would else be written alone, and the next one would wake
// the writer. Before it ends a round of requests or replies the reader lets those run
// whom it woke: callers that ask again at once, and members that answer.
//
// Sessions that send what others receive, as a relay's do, share one. The zero value is ready; all
// methods may be called concurrently.
type Rounds struct {
	running atomic.Int32

	mu   sync.Mutex
	held []*outbox // guarded by mu: whose writers are kicked at the end of a round
}

// begin begins a round, which end follows soon.
func (r *Rounds) begin() { r.running.Add(1) }

// end ends a round. What was held is written, also during other rounds: so it waits for
// the shortest of them.
func (r *Rounds) end() {
	r.running.Add(-1)
	r.mu.Lock()
	all := r.held
	r.held = nil
	r.mu.Unlock()
	for i, b := range all {
		all[i] = nil
		flush(b)
	}
	if cap(all) == 0 {
		return
	}
	r.mu.Lock()
	if r.held == nil {
		r.held = all[:0]
	}
	r.mu.Unlock()
}

// hold has b flushed at the end of a round, if one is under way. b.mu is held.
func (r *Rounds) hold(b *outbox) bool {
	if r.running.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running.Load() == 0 { // nobody would come
		return false
	}
	r.held = append(r.held, b)
	return true
}

// held has the end of a round write what was just queued on that lane of b, if nobody
// else is about to. b.mu is held.
func held(b *outbox, lane wire.Lane) bool {
	w := &b.writer
	if lane != wire.LaneRPC || !w.idle || !b.cfg.Rounds.hold(b) {
		return false
	}
	w.held = true
	return true
}

// flush writes what b held, or has the writer do it.
func flush(b *outbox) {
	b.mu.Lock()
	b.writer.held = false
	write(b, 0)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"
	"sync/atomic"
	"time"
)

// Numbers of the health core, in nanoseconds where they are times. They are
// shared by all callers so that members see the same behaviour from each.
const (
	latencyHalf   = int64(2 * time.Second)        // a peak is half forgotten after this
	queueHalf     = int64(200 * time.Millisecond) // a reported queue likewise
	firstLatency  = int64(time.Millisecond)       // believed while nobody has been measured
	grain         = int64(time.Millisecond)       // added to every latency: differences well below it are noise
	busyInflight  = 64                            // default concurrency of a member of capacity 1
	overloadQueue = 64                            // least queue believed after "overloaded"
	maxLatency    = int64(10 * time.Minute)       // keeps costs inside 64 bits
	maxCapacity   = 1 << 16
)

// load is what a caller knows of one member's health: the core behind picks.
// It has no clock: now is nanoseconds since some start. What Pick reads are
// atomics, which may be one reply apart from each other; no decision minds.
type load struct {
	capacity int64
	pool     *pool

	inflight atomic.Int64
	flags    atomic.Uint32
	latency  atomic.Int64 // peak-sensitive moving average; 0 = never measured
	touched  atomic.Int64 // when latency was last updated
	queue    atomic.Int64 // waiting at the member, when it last said so
	queueAt  atomic.Int64
	ejected  atomic.Int64 // out of rotation until then; 0 = in rotation
	probing  atomic.Int64 // a probe is under way, believed until then

	// Written under mu, read by everybody.
	typical atomic.Int64 // running median of the service time; 0 = none yet

	mu       sync.Mutex // guards what follows; held for a few instructions
	samples  int        // since the last return
	failures int        // in a row
	failRate int64      // share of failures of late, 0 … 1024
	strikes  int        // ejections without a long healthy time between
	returned int64      // when the last ejection ended
}

func newLoad(p *pool, capacity int) *load {
	return &load{pool: p, capacity: int64(min(max(capacity, 1), maxCapacity))}
}

// waiting estimates the queue at the member: what it said last, fading.
func (l *load) waiting(now int64) int64 {
	return halve(l.queue.Load(), now-l.queueAt.Load(), queueHalf)
}

// expected is the latency to reckon with. An old peak fades towards base, the
// pool's median, so that a member that was slow once is tried again; one that
// was never measured counts as average.
func (l *load) expected(now, base int64) int64 {
	lat := l.latency.Load()
	if lat == 0 {
		lat = base
	}
	if lat > base {
		lat = base + halve(lat-base, now-l.touched.Load(), latencyHalf)
	}
	return max(lat, 1)
}

// cost orders members: (in flight + waiting + 1) × latency ÷ capacity. Members
// that are alike must share the work even when nobody is busy; without grain
// one lucky reply would have all requests follow it.
func (l *load) cost(now, base int64) uint64 {
	work := min(max(l.inflight.Load(), 0)+l.waiting(now)+1, 1<<17)
	// At most 2^17 × 2^40 × 2^4: room for comparing multiples.
	return uint64(work) * uint64(l.expected(now, base)+grain) * 16 / uint64(l.capacity)
}

// busy says that a request sent here would wait.
func (l *load) busy(now int64) bool {
	return l.waiting(now) > 0 || l.inflight.Load() >= busyInflight*l.capacity
}

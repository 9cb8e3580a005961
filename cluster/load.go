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

// state is how usable a member is; lower is better.
type state uint8

const (
	stateLive state = iota
	stateEjected
	stateSuspect
	stateUnreachable
	stateGone // no longer in any view
)

// String returns the word that users see.
func (s state) String() string {
	switch s {
	case stateLive:
		return "live"
	case stateEjected:
		return "ejected"
	case stateSuspect:
		return "suspect"
	}
	return "unreachable"
}

// Bits of load.flags; set by the control loop, read by everybody.
const (
	flagSuspect     uint32 = 1 << iota // an anchor says so
	flagLinkSuspect                    // our own link says so
	flagLinkDown                       // our own link is lost
	flagGone                           // removed from the view
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

func (l *load) state() state {
	f := l.flags.Load()
	switch {
	case f&flagGone != 0:
		return stateGone
	case f&flagLinkDown != 0:
		return stateUnreachable
	case f&(flagSuspect|flagLinkSuspect) != 0:
		return stateSuspect
	case l.ejected.Load() != 0:
		return stateEjected
	}
	return stateLive
}

func (l *load) setFlag(f uint32, on bool) {
	if on {
		l.flags.Or(f)
	} else {
		l.flags.And(^f)
	}
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
	return uint64(work) * uint64(l.expected(now, base)+grain) * 64 / uint64(l.capacity)
}

// busy says that a request sent here would wait.
func (l *load) busy(now int64) bool {
	return l.waiting(now) > 0 || l.inflight.Load() >= busyInflight*l.capacity
}

// observe takes in the outcome of one request.
func (l *load) observe(now int64, r Result) {
	switch r.Outcome {
	case OutcomeOK, OutcomeRemoteError:
		l.setQueue(now, int64(r.Queue))
		l.observeTime(now, r)
	case OutcomeOverloaded:
		l.setQueue(now, max(int64(r.Queue), overloadQueue))
		l.observeAnswer(now)
	case OutcomeFailed:
		l.observeFailure(now)
	case OutcomeCancelled: // says nothing about the member
		l.probing.Store(0)
	}
}

func (l *load) setQueue(now, n int64) {
	l.queueAt.Store(now)
	l.queue.Store(min(max(n, 0), 1<<16))
}

// observeTime learns from a reply how fast the member is.
func (l *load) observeTime(now int64, r Result) {
	latency := min(max(int64(r.Latency), 1), maxLatency)
	service := min(int64(r.Service), maxLatency)
	if service <= 0 {
		service = latency
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = 0
	l.failRate -= (l.failRate + 7) / 8
	if l.ejected.Load() != 0 {
		l.judgeProbe(now, service)
		return
	}
	old := l.latency.Load()
	switch {
	case old == 0:
		l.latency.Store(latency)
	case latency > old: // up at once …
		l.latency.Store(old + (latency-old+1)/2)
	default: // … down with time
		l.latency.Store(latency + halve(old-latency, now-l.touched.Load(), latencyHalf))
	}
	l.touched.Store(now)
	l.learnTypical(service)
	if l.samples >= minSamples && l.pool.slow(l.typical.Load()) {
		l.pool.eject(now, l)
	}
}

// learnTypical moves the running median one step of an eighth towards the
// sample: a few very slow requests among many do not make a slow member.
func (l *load) learnTypical(service int64) {
	l.samples++
	old := l.typical.Load()
	switch step := old/8 + 1; {
	case l.samples == 1:
		l.typical.Store(service)
	case service > old:
		l.typical.Store(min(old+step, service))
	default:
		l.typical.Store(max(old-step, service))
	}
}

// observeAnswer notes that the member answers, though not how fast it works.
func (l *load) observeAnswer(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = 0
	if l.ejected.Load() != 0 && l.probing.Load() != 0 {
		l.readmit(now)
	}
}

// judgeProbe ends an ejection, or prolongs it, by the service time of a reply.
// A reply that comes while no probe is due says nothing new. Under mu.
func (l *load) judgeProbe(now, service int64) {
	if l.probing.Load() == 0 {
		return
	}
	if l.pool.slow(service) {
		l.strike(now)
		l.pool.reschedule()
		return
	}
	l.typical.Store(service)
	l.latency.Store(0) // count as average until measured again
	l.readmit(now)
}

// strike takes the member out of rotation, for longer each time. Under mu.
func (l *load) strike(now int64) {
	if l.strikes > 0 && l.ejected.Load() == 0 && now-l.returned > forgiveAfter {
		l.strikes = 0
	}
	l.ejected.Store(now + min(ejectBase<<min(l.strikes, 10), ejectMax))
	l.probing.Store(0)
	l.strikes++
}

// readmit puts the member back into rotation with a clean slate. Under mu.
func (l *load) readmit(now int64) {
	l.ejected.Store(0)
	l.probing.Store(0)
	l.returned = now
	l.failures, l.failRate, l.samples = 0, 0, 1
	l.pool.reschedule()
}

func (l *load) observeFailure(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures++
	l.failRate += (1024 - l.failRate) / 8
	if l.ejected.Load() != 0 {
		if l.probing.Load() != 0 {
			l.strike(now)
			l.pool.reschedule()
		}
		return
	}
	if l.failures >= maxFailures || l.failRate > maxFailRate {
		l.pool.eject(now, l)
	}
}

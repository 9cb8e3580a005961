// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
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
	enough   atomic.Int64 // a queue as long as this is saturated; 0 = the member has not told what runs there
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
	return &load{pool: p, capacity: int64(min(max(capacity, 1), MaxCapacity))}
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

// Result tells how a request ended, as far as the member's health goes. Queue,
// Running and Service are what the reply carried.
type Result struct {
	// Outcome is OutcomeReply, OutcomeRemoteError or OutcomeOverloaded where the
	// member answered, OutcomeCancelled where the end says nothing about it: given
	// up by the caller, or the link was lost. Any other one means that no answer
	// came over a sound link.
	Outcome  wire.Outcome
	Accepted bool          // the reply does not wait for the handler, so it does not say how fast that is
	Latency  time.Duration // from sending to the reply
	Queue    int           // requests waiting at the member
	Running  int           // handlers running at the member
	Service  time.Duration // time in the handler; 0 = not told
}

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
	return [...]string{"live", "ejected", "suspect", "unreachable", "gone"}[s]
}

// Bits of load.flags; set by the control loop, read by everybody.
const (
	flagSuspect     uint32 = 1 << iota // an anchor says so
	flagLinkSuspect                    // our own link says so
	flagLinkDown                       // our own link is lost
	flagGone                           // removed from the view
)

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

// observe learns from the outcome of one request.
func (l *load) observe(now int64, r Result) {
	switch r.Outcome {
	case wire.OutcomeReply, wire.OutcomeRemoteError:
		if r.Accepted {
			l.learnEnough(int64(r.Running), int64(r.Running))
			l.setQueue(now, int64(r.Queue)+int64(r.Running))
			l.observeAnswer(now)
			return
		}
		l.learnEnough(int64(r.Running), 0)
		l.setQueue(now, int64(r.Queue))
		l.observeTime(now, r)
	case wire.OutcomeOverloaded:
		l.setQueue(now, max(int64(r.Queue), overloadQueue, 4*l.enoughQueue()))
		l.observeAnswer(now)
	case wire.OutcomeCancelled:
		l.probing.Store(0)
	default:
		l.observeFailure(now)
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
	case old == 0: // the first reply pays for the beginning: it tells no more than the usual
		l.latency.Store(min(latency, l.pool.base.Load()))
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

// Numbers of ejection.
const (
	minSamples   = 16                 // replies before a member may be called slow
	slowFactor   = 5                  // typical service time above so many medians is slow
	maxFailures  = 3                  // in a row
	maxFailRate  = 512                // of 1024
	ejectBase    = int64(time.Second) // doubled by each strike
	ejectMax     = int64(30 * time.Second)
	forgiveAfter = int64(time.Minute)     // healthy so long: strikes are forgotten
	probeFor     = int64(5 * time.Second) // a probe without outcome blocks the next one so long
	refreshEvery = int64(50 * time.Millisecond)

	// slowExcess is how much above the median it must be, too: far above what
	// a busy machine adds to a service time of a millisecond. Members that are
	// slower because they work hard are the business of the pick by load;
	// throwing one out would make the others slow.
	slowExcess = int64(20 * time.Millisecond)
)

// pool is what the members of one tier of a watched cluster have in common: medians,
// and the bound on how many may be ejected. That of the members of this network stands
// for the cluster. All methods may be called concurrently.
type pool struct {
	doubt func() (error, bool) // Config.Doubt; nil = there is none
	spill spill                // of work for any network to the next tier
	stirs atomic.Bool          // see watcher.stirs; while Clusters.waiting

	behind  func(peer.ID) bool        // Network.Behind; nil = never
	anchors atomic.Pointer[[]peer.ID] // that told, or will tell, what the view shows

	turn      atomic.Uint64 // of round robin
	median    atomic.Int64  // of typical service times; 0 = unknown
	base      atomic.Int64  // median latency
	nextProbe atomic.Int64  // when the first ejection ends; 0 = nobody is ejected
	refreshAt atomic.Int64

	mu      sync.Mutex // guards what follows; a load's mu is taken first, never after it
	members []*Member  // of the current view; nobody changes the slice
	scratch []int64
	ranks   map[int]*pool     // of imported members, by their priority
	spills  map[string]*spill // of work that is for one network only
}

func newPool() *pool {
	p := &pool{}
	p.base.Store(firstLatency)
	return p
}

// ofRank returns the pool of the members of that rank. There are few: see MaxPriority.
func (p *pool) ofRank(rank int) *pool {
	if rank == native {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ranks == nil {
		p.ranks = make(map[int]*pool)
	}
	if p.ranks[rank] == nil {
		p.ranks[rank] = newPool()
	}
	return p.ranks[rank]
}

// spillOf returns the spill of work that is for one network only, or for any if that is
// "": each sees other members, so one is saturated where the other is not.
func (p *pool) spillOf(network string) *spill {
	if network == "" {
		return &p.spill
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spills == nil {
		p.spills = make(map[string]*spill)
	}
	if p.spills[network] == nil {
		p.spills[network] = &spill{}
	}
	return p.spills[network]
}

// setTiers has the pools of all ranks reckon over the members of these tiers.
func (p *pool) setTiers(tiers []tier) {
	p.mu.Lock()
	pools := []*pool{p}
	for _, rank := range slices.Sorted(maps.Keys(p.ranks)) {
		pools = append(pools, p.ranks[rank])
	}
	p.mu.Unlock()
	for _, each := range pools {
		var members []*Member
		if i := slices.IndexFunc(tiers, func(t tier) bool { return t.pool == each }); i >= 0 {
			members = tiers[i].all
		}
		each.setMembers(members)
	}
}

// setMembers replaces the members that medians and bounds are reckoned over.
func (p *pool) setMembers(members []*Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = members
	if p.nextProbe.Load() != 0 { // else nobody is ejected, nor is who is new
		p.schedule()
	}
	if len(p.spills) > 0 {
		p.keepSpills()
	}
}

// keepSpills forgets the spills of work for networks that nobody is from any more: who
// registers members chooses what their networks are called. Under mu.
func (p *pool) keepSpills() {
	from := make(map[string]bool)
	for _, m := range p.members {
		from[m.Network] = true
	}
	maps.DeleteFunc(p.spills, func(network string, _ *spill) bool { return !from[network] })
}

// slow says whether a service time is an outlier.
func (p *pool) slow(service int64) bool {
	m := p.median.Load()
	return m > 0 && service > slowFactor*m && service > m+slowExcess
}

// refresh recomputes the medians, at most every refreshEvery and on one
// goroutine; the others go on with the old ones.
func (p *pool) refresh(now int64) {
	at := p.refreshAt.Load()
	if now < at || !p.refreshAt.CompareAndSwap(at, now+refreshEvery) || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if latency := p.middle(func(l *load) int64 { return l.latency.Load() }); latency > 0 {
		p.base.Store(latency)
	}
	if service := p.middle(func(l *load) int64 { return l.typical.Load() }); service > 0 {
		p.median.Store(service)
	}
}

// middle returns the lower median of what is known, so that of two members the
// faster one sets the standard; 0 if nothing is. Under mu.
func (p *pool) middle(of func(*load) int64) int64 {
	p.scratch = p.scratch[:0]
	for _, m := range p.members {
		if v := of(m.load); v > 0 {
			p.scratch = append(p.scratch, v)
		}
	}
	if len(p.scratch) == 0 {
		return 0
	}
	slices.Sort(p.scratch)
	return p.scratch[(len(p.scratch)-1)/2]
}

// eject takes l out of rotation if at most half of those who answer are out
// then. Under l.mu.
func (p *pool) eject(now int64, l *load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answering, out := 0, 1
	for _, m := range p.members {
		switch m.load.state() {
		case stateLive:
			answering++
		case stateEjected:
			answering++
			out++
		}
	}
	if out*2 > answering {
		return
	}
	l.strike(now)
	p.schedule()
}

// reschedule recomputes when the next probe is due. Under some load's mu.
func (p *pool) reschedule() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.schedule()
}

func (p *pool) schedule() {
	first := int64(0)
	for _, m := range p.members {
		if e := m.load.ejected.Load(); e != 0 && (first == 0 || e < first) {
			first = e
		}
	}
	p.nextProbe.Store(first)
}

// claimProbe returns a member whose ejection is over and makes the caller's
// request the probe that decides about it; nil if none is due.
func (p *pool) claimProbe(by *picking, members []*Member) *Member {
	now := by.now
	if at := p.nextProbe.Load(); at == 0 || now < at {
		return nil
	}
	for _, m := range members {
		l := m.load
		e, under := l.ejected.Load(), l.probing.Load()
		if e == 0 || now < e || now < under || l.state() != stateEjected || by.refuses(m) {
			continue
		}
		if l.probing.CompareAndSwap(under, now+probeFor) {
			return m
		}
	}
	return nil
}

// halve returns v after age of exponential decay that takes half of it away
// per half. Integers throughout: floating point may be fused differently on
// another architecture, and picks would differ there.
func halve(v, age, half int64) int64 {
	if v <= 0 || age <= 0 {
		return max(v, 0)
	}
	n := age / half
	if n > 62 {
		return 0
	}
	v >>= n
	// Linear between two halvings: never off by more than 6 %.
	part := (age % half) * 1024 / half
	return v - v/2*part/1024
}

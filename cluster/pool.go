// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

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

// pool is what the members of one watched cluster have in common: medians, and
// the bound on how many may be ejected. All methods may be called concurrently.
type pool struct {
	turn      atomic.Uint64 // of round robin
	median    atomic.Int64  // of typical service times; 0 = unknown
	base      atomic.Int64  // median latency
	nextProbe atomic.Int64  // when the first ejection ends; 0 = nobody is ejected
	refreshAt atomic.Int64

	mu      sync.Mutex // guards what follows; a load's mu is taken first, never after it
	loads   []*load    // members of the current view
	scratch []int64
}

func newPool() *pool {
	p := &pool{}
	p.base.Store(firstLatency)
	return p
}

// setLoads replaces the members that medians and bounds are reckoned over.
func (p *pool) setLoads(loads []*load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loads = loads
	p.schedule()
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
	for _, l := range p.loads {
		if v := of(l); v > 0 {
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
	for _, o := range p.loads {
		switch o.state() {
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
	for _, l := range p.loads {
		if e := l.ejected.Load(); e != 0 && (first == 0 || e < first) {
			first = e
		}
	}
	p.nextProbe.Store(first)
}

// claimProbe returns a member whose ejection is over and makes the caller's
// request the probe that decides about it; nil if none is due.
func (p *pool) claimProbe(now int64, members []*Member, exclude []MemberID) *Member {
	if at := p.nextProbe.Load(); at == 0 || now < at {
		return nil
	}
	for _, m := range members {
		l := m.load
		e, under := l.ejected.Load(), l.probing.Load()
		if e == 0 || now < e || now < under || l.state() != stateEjected || excluded(m, exclude) {
			continue
		}
		if l.probing.CompareAndSwap(under, now+probeFor) {
			return m
		}
	}
	return nil
}

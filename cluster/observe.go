// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// observe takes in the outcome of one request.
func (l *load) observe(now int64, r Result) {
	switch r.Outcome {
	case OutcomeOK, OutcomeRemoteError:
		l.setQueue(now, int64(r.Queue))
		l.observeTime(now, r)
	case OutcomeOverloaded:
		l.setQueue(now, max(int64(r.Queue), overloadQueue))
		l.observeAnswer(now)
	case OutcomeAccepted:
		l.setQueue(now, int64(r.Queue)+int64(r.Running))
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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/cmd/arke/internal/bench"
)

// answer is what the caller knows about one request when it is over.
type answer struct {
	member   string
	attempts int
	begin    time.Time
	end      time.Time
	err      error // it was lost
	wrong    error // it was answered, but not correctly
}

// tally counts answers and remembers the moments the report is about. It may
// be used concurrently.
type tally struct {
	mu sync.Mutex
	// Guarded by mu.
	requests int
	wrong    int
	lost     int
	retried  int
	first    error // the first thing that was wrong or lost
	shares   map[string]int
	latency  *hdrhistogram.Histogram // µs

	victim   string    // member beside the relay that is killed
	killed   time.Time // zero = not yet
	affected time.Time // end of the last request that the kill disturbed
	restart  time.Time // when the relay was started again
	returned time.Time // end of the first request that the victim answered then
}

func newTally(victim string) *tally {
	return &tally{
		shares:  make(map[string]int),
		latency: hdrhistogram.New(1, time.Minute.Microseconds(), 3),
		victim:  victim,
	}
}

func (t *tally) add(a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	// In range by construction, so there is no error to handle.
	_ = t.latency.RecordValue(min(max(a.end.Sub(a.begin), time.Microsecond), time.Minute).Microseconds())
	t.shares[a.member]++
	if a.attempts > 1 {
		t.retried++
	}
	if a.err != nil {
		t.lost++
	}
	if a.wrong != nil {
		t.wrong++
	}
	if t.first == nil {
		t.first = errors.Join(a.err, a.wrong)
	}
	if (a.err != nil || a.attempts > 1) && !t.killed.IsZero() && t.restart.IsZero() && a.end.After(t.killed) {
		t.affected = a.end
	}
	if a.member == t.victim && a.err == nil && !t.restart.IsZero() && a.begin.After(t.restart) && t.returned.IsZero() {
		t.returned = a.end
	}
}

// kill notes that the relay is about to be killed.
func (t *tally) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed = time.Now()
}

// revive notes that the relay is about to be started again.
func (t *tally) revive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restart = time.Now()
}

// progress returns how far it is.
func (t *tally) progress() (requests, wrong, lost int, returned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests, t.wrong, t.lost, !t.returned.IsZero()
}

// report fills in everything the caller saw.
func (t *tally) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	shares := maps.Clone(t.shares)
	delete(shares, "")
	return Report{
		Requests: t.requests,
		Wrong:    t.wrong,
		Lost:     t.lost,
		Retried:  t.retried,
		Members:  shares,
		Latency:  bench.Summarize(t.latency),
		Affected: since(t.killed, t.affected),
		Returned: since(t.restart, t.returned),
		first:    t.first,
	}
}

// since returns how long after a moment another one came; 0 if it did not.
func since(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return to.Sub(from)
}

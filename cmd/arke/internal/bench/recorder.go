// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/patterns"
)

// slowest is the longest latency the histogram tells apart; longer ones count
// as this.
const slowest = 10 * time.Minute

// recorder collects what came of the requests. It may be used concurrently.
type recorder struct {
	mu sync.Mutex
	// Guarded by mu.
	begun    int
	outcomes [patterns.OutcomeCount]int
	members  map[string]int
	latency  *hdrhistogram.Histogram // µs, of replies
}

func newRecorder() *recorder {
	return &recorder{
		members: make(map[string]int),
		latency: hdrhistogram.New(1, slowest.Microseconds(), 3),
	}
}

func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
}

func (r *recorder) end(member string, err error, latency time.Duration) {
	o := patterns.OutcomeOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[o]++
	if o != patterns.OutcomeReply {
		return
	}
	if member != "" {
		r.members[member]++
	}
	// In range by construction, so there is no error to handle.
	_ = r.latency.RecordValue(min(max(latency, time.Microsecond), slowest).Microseconds())
}

// done returns the number of requests that have an outcome.
func (r *recorder) done() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, c := range r.outcomes {
		n += c
	}
	return n
}

func (r *recorder) result(total int, elapsed time.Duration) Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Result{
		Sent:     r.begun,
		Unsent:   total - r.begun,
		Outcomes: r.outcomes,
		Members:  maps.Clone(r.members),
		Elapsed:  elapsed,
		Latency:  Summarize(r.latency),
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"
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
	line     *timeline
	latency  *hdrhistogram.Histogram // µs

	begin    time.Time // of the asking; immutable
	victim   string    // member beside the relay that is killed
	killed   time.Time // zero = not yet
	affected time.Time // end of the last request that the kill disturbed
	restart  time.Time // when the relay was started again
	returned time.Time // end of the first request that the victim answered then
}

// newTally returns the tally of a caller that begins to ask then.
func newTally(victim string, begin time.Time) *tally {
	return &tally{
		begin:   begin,
		shares:  make(map[string]int),
		line:    newTimeline(begin),
		latency: hdrhistogram.New(1, time.Minute.Microseconds(), 3),
		victim:  victim,
	}
}

func (t *tally) add(a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.add(a)
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
		Picture:  t.line.picture(t.victim, t.killed, t.restart),
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

// Report is how the demo went.
type Report struct {
	Zones    int // zones asked about
	Requests int
	Wrong    int // replies that differ from the caller's own computation
	Lost     int // requests without a reply
	Retried  int // requests that needed more than one member
	Members  map[string]int
	Latency  bench.Latency
	Affected time.Duration // from the kill to the end of the last request it disturbed
	Returned time.Duration // from the relay's new start to its member's first reply
	Elapsed  time.Duration
	Picture  []string // the time line, for people

	first error
}

// Err says what was wrong, nil if nothing was.
func (r Report) Err() error {
	switch {
	case r.Wrong > 0 || r.Lost > 0:
		return fmt.Errorf("demo: %d wrong and %d lost of %d requests, the first: %w", r.Wrong, r.Lost, r.Requests, r.first)
	case r.Returned == 0:
		return fmt.Errorf("demo: the member beside the killed relay did not serve again within %s", returnTime)
	}
	return nil
}

// MarshalJSON gives one object; times in milliseconds, latencies in
// microseconds, shares between 0 and 1.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Zones    int                `json:"zones"`
		Requests int                `json:"requests"`
		Wrong    int                `json:"wrong"`
		Lost     int                `json:"lost"`
		Retried  int                `json:"retried"`
		Members  map[string]float64 `json:"members"`
		Latency  bench.Latency      `json:"latency_us"`
		Affected float64            `json:"kill_to_last_affected_ms"`
		Returned float64            `json:"return_to_serving_ms"`
		Seconds  float64            `json:"seconds"`
	}{
		r.Zones, r.Requests, r.Wrong, r.Lost, r.Retried, r.shares(), r.Latency,
		millis(r.Affected), millis(r.Returned), r.Elapsed.Seconds(),
	})
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r Report) shares() map[string]float64 {
	total := 0
	for _, n := range r.Members {
		total += n
	}
	return bench.Shares(r.Members, total)
}

// Write prints the table.
func (r Report) Write(w io.Writer) error {
	for _, line := range r.Picture {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nrequests\t%d about %d zones in %.1f s\n", r.Requests, r.Zones, r.Elapsed.Seconds())
	fmt.Fprintf(t, "wrong\t%d\n", r.Wrong)
	fmt.Fprintf(t, "lost\t%d\n", r.Lost)
	fmt.Fprintf(t, "retried\t%d\n", r.Retried)
	shares := r.shares()
	for _, m := range slices.Sorted(maps.Keys(shares)) {
		fmt.Fprintf(t, "%s\t%d, %.1f %%\n", m, r.Members[m], 100*shares[m])
	}
	fmt.Fprintf(t, "latency\t%s\n", r.Latency)
	fmt.Fprintf(t, "kill to last affected request\t%.1f ms\n", millis(r.Affected))
	fmt.Fprintf(t, "relay's return to its member's first reply\t%.1f ms\n", millis(r.Returned))
	return t.Flush()
}

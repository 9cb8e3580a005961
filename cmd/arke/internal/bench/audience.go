// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/patterns"
)

// StampBytes is how much of a publication's body Stamp takes.
const StampBytes = 16

// Audience is the subscribers of a measurement, all in this process. Its
// methods may be called concurrently.
type Audience struct {
	run   uint64 // tells our publications from those of others
	begin time.Time

	mu sync.Mutex
	// Guarded by mu.
	delivered, missed, strange uint64
	inexact                    bool
	latency                    *hdrhistogram.Histogram // µs
}

// NewAudience returns an Audience for the publications of one run, which is
// any number that others will not have chosen.
func NewAudience(run uint64) *Audience {
	return &Audience{run: run, begin: time.Now(), latency: hdrhistogram.New(1, slowest.Microseconds(), 3)}
}

// Stamp writes into body, of StampBytes at least, what Audience needs.
func (a *Audience) Stamp(body []byte, intended time.Time) {
	binary.BigEndian.PutUint64(body, a.run)
	binary.BigEndian.PutUint64(body[8:], uint64(intended.Sub(a.begin)))
}

var _ patterns.Subscriber = (*Audience)(nil)

// ServePublication implements patterns.Subscriber.
func (a *Audience) ServePublication(p *patterns.Publication) {
	now := time.Since(a.begin)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(p.Body) < StampBytes || binary.BigEndian.Uint64(p.Body) != a.run {
		a.strange++
		return
	}
	a.delivered++
	took := now - time.Duration(binary.BigEndian.Uint64(p.Body[8:]))
	// In range by construction, so there is no error to handle.
	_ = a.latency.RecordValue(min(max(took, time.Microsecond), slowest).Microseconds())
}

// ServeGap implements patterns.Subscriber.
func (a *Audience) ServeGap(g patterns.Gap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missed += g.Missed
	a.inexact = a.inexact || !g.Exact
}

// Delivery is what came at the subscribers.
type Delivery struct {
	Expected  uint64  `json:"expected"`  // copies that were published for them
	Delivered uint64  `json:"delivered"` // copies that came
	Missed    uint64  `json:"missed"`    // copies of which they were told that they are missing
	Inexact   bool    `json:"inexact"`   // Missed is an upper bound
	Strange   uint64  `json:"strange"`   // messages of other publishers
	Untold    int64   `json:"untold"`    // copies that neither came nor were told; negative: came twice
	PerSecond float64 `json:"per_second"`
	Latency           // from the intended start to the subscriber
}

// Delivery returns what has come of the expected copies within elapsed.
func (a *Audience) Delivery(expected uint64, elapsed time.Duration) Delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := Delivery{
		Expected: expected, Delivered: a.delivered, Missed: a.missed, Inexact: a.inexact, Strange: a.strange,
		Untold:  int64(expected) - int64(a.delivered) - int64(a.missed),
		Latency: Summarize(a.latency),
	}
	if elapsed > 0 {
		d.PerSecond = float64(d.Delivered) / elapsed.Seconds()
	}
	return d
}

// Await waits until so many copies have come or are told to be missing, or
// nothing more has come for quiet.
func (a *Audience) Await(expected uint64, quiet time.Duration) {
	seen, last := uint64(0), time.Now()
	for {
		a.mu.Lock()
		now := a.delivered + a.missed
		a.mu.Unlock()
		if now != seen {
			seen, last = now, time.Now()
		}
		if now >= expected || time.Since(last) > quiet {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Write prints the delivery for people.
func (d Delivery) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "delivered  %d of %d, %.0f per second\n", d.Delivered, d.Expected, d.PerSecond)
	if err == nil && d.Missed > 0 {
		most := ""
		if d.Inexact {
			most = "at most "
		}
		_, err = fmt.Fprintf(w, "missed     %s%d: the subscribers were told so\n", most, d.Missed)
	}
	if err == nil && d.Untold != 0 {
		_, err = fmt.Fprintf(w, "untold     %d: neither delivered nor told\n", d.Untold)
	}
	if err == nil && d.Delivered > 0 {
		_, err = fmt.Fprintf(w, "delivery   %s\n", d.Latency)
	}
	return err
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/patterns"
)

// Config says what to send. Rate, Duration and Do are required.
type Config struct {
	// Rate is the number of requests that begin in a second.
	Rate float64
	// Duration is how long requests begin.
	Duration time.Duration
	// Concurrency bounds the requests under way; default 256.
	Concurrency int
	// Grace is how long after Duration the last requests may still begin,
	// where the cluster could not keep up; default 5 s.
	Grace time.Duration
	// Do sends request n, which was meant to begin at intended, and names the
	// member that answered, "" if none. It must return soon after ctx ends. It
	// is called concurrently.
	Do func(ctx context.Context, n int, intended time.Time) (member string, err error)
	// Progress, if not nil, is told once per second how many requests are
	// done and how many there will be.
	Progress func(done, total int)
}

func (c Config) withDefaults() Config {
	c.Concurrency = cmp.Or(c.Concurrency, 256)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	return c
}

func (c Config) validate() error {
	switch {
	case !(c.Rate > 0) || c.Rate > 1e7:
		return fmt.Errorf("bench: rate is %g: it must be more than 0 and at most 10 million per second", c.Rate)
	case c.Duration <= 0:
		return fmt.Errorf("bench: duration is %s: it must be positive", c.Duration)
	case c.Concurrency < 0 || c.Concurrency > 1<<16:
		return fmt.Errorf("bench: concurrency is %d: it must be between 1 and %d", c.Concurrency, 1<<16)
	case c.Rate*c.Duration.Seconds() < 1:
		return fmt.Errorf("bench: %g per second for %s is less than one request", c.Rate, c.Duration)
	case c.Do == nil:
		return errors.New("bench: nothing to do")
	}
	return nil
}

// Run sends the requests and waits for the last outcome. It ends early when
// ctx does; what was measured until then is in the Result, together with the
// cause of ctx's end.
func Run(ctx context.Context, cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return Result{}, err
	}
	r := &run{
		cfg:   cfg,
		total: int(cfg.Rate * cfg.Duration.Seconds()),
		rec:   newRecorder(),
		turns: make(chan turn, cfg.Concurrency),
	}
	return r.run(ctx)
}

// run is one run of the loop.
type run struct {
	// Immutable after creation.
	cfg   Config
	total int
	rec   *recorder

	// turns carries numbers whose time has come; closed by the pacer.
	turns chan turn
}

// turn is one request: its number and when it was meant to begin.
type turn struct {
	n        int
	intended time.Time
}

func (r *run) run(ctx context.Context) (Result, error) {
	begin := time.Now()
	pacing, stop := context.WithDeadline(ctx, begin.Add(r.cfg.Duration+r.cfg.Grace))
	defer stop()

	var pacer, workers sync.WaitGroup
	pacer.Go(func() { r.pace(pacing, begin) })
	for range r.cfg.Concurrency {
		workers.Go(func() { r.work(ctx, pacing) })
	}
	done := make(chan struct{})
	pacer.Go(func() { r.report(done) })

	workers.Wait()
	elapsed := time.Since(begin)
	close(done)
	pacer.Wait()
	result := r.rec.result(r.total, elapsed)
	result.Stopped = ctx.Err() != nil
	return result, ctx.Err()
}

// pace hands out every number at its intended start.
func (r *run) pace(ctx context.Context, begin time.Time) {
	defer close(r.turns)
	sleeper := newSleeper()
	defer sleeper.close()
	interval := float64(time.Second) / r.cfg.Rate
	for n := range r.total {
		intended := begin.Add(time.Duration(float64(n) * interval))
		if !sleeper.until(ctx, intended) {
			return
		}
		select {
		case r.turns <- turn{n, intended}:
		case <-ctx.Done():
			return
		}
	}
}

func (r *run) work(ctx, pacing context.Context) {
	for t := range r.turns {
		if pacing.Err() != nil {
			continue // too late to begin: it counts as unsent
		}
		r.rec.begin()
		member, err := r.cfg.Do(ctx, t.n, t.intended)
		r.rec.end(member, err, time.Since(t.intended))
	}
}

func (r *run) report(done <-chan struct{}) {
	if r.cfg.Progress == nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.cfg.Progress(r.rec.done(), r.total)
		case <-done:
			return
		}
	}
}

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

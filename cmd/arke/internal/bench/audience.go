// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
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
func (a *Audience) ServePublication(p patterns.Publication) {
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

// Lines are tunnels to members that answer each message with one, in order.
type Lines struct {
	lines []*tunnelLine
	work  sync.WaitGroup
}

// NewLines takes over the tunnels.
func NewLines(tunnels []patterns.Tunnel) *Lines {
	l := &Lines{}
	for _, t := range tunnels {
		one := &tunnelLine{tunnel: t, sending: make(chan struct{}, 1)}
		l.lines = append(l.lines, one)
		l.work.Go(one.receive)
	}
	return l
}

// Close ends the tunnels and waits.
func (l *Lines) Close() {
	for _, one := range l.lines {
		_ = one.tunnel.Reset(patterns.CodeUnknown, "measured")
	}
	l.work.Wait()
}

// Do sends body through tunnel n modulo their number and waits for the answer.
func (l *Lines) Do(ctx context.Context, n int, body []byte) (member string, err error) {
	one := l.lines[n%len(l.lines)]
	return one.tunnel.Info().Member, one.do(ctx, body)
}

// tunnelLine is one tunnel and those that wait for its answers.
type tunnelLine struct {
	tunnel  patterns.Tunnel
	sending chan struct{} // held while a message is sent

	mu sync.Mutex
	// Guarded by mu.
	waiting []*waiter
	err     error // why no more answers come
}

// waiter is one message whose answer is not there.
type waiter struct {
	size int
	done chan error // of room for one
}

func (t *tunnelLine) do(ctx context.Context, body []byte) error {
	select {
	case t.sending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	w := &waiter{size: len(body), done: make(chan error, 1)}
	err := t.send(ctx, body, w)
	<-t.sending
	if err != nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send queues w before its message: the answer may be fast.
func (t *tunnelLine) send(ctx context.Context, body []byte, w *waiter) error {
	t.mu.Lock()
	if t.err != nil {
		defer t.mu.Unlock()
		return t.err
	}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	err := t.tunnel.Send(ctx, body)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Nothing was queued behind it, since we hold sending.
	if n := len(t.waiting); n > 0 && t.waiting[n-1] == w {
		t.waiting = t.waiting[:n-1]
	}
	return err
}

// receive gives each answer to who has waited longest.
func (t *tunnelLine) receive() {
	for {
		answer, err := t.tunnel.Receive(context.Background())
		t.mu.Lock()
		if err != nil {
			t.err = err
			for _, w := range t.waiting {
				w.done <- err
			}
			t.waiting = nil
			t.mu.Unlock()
			return
		}
		if len(t.waiting) == 0 {
			t.mu.Unlock()
			continue // an answer to nothing
		}
		w := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.mu.Unlock()
		if len(answer) != w.size {
			w.done <- fmt.Errorf("a message of %d bytes was answered with %d: the member is no echo", w.size, len(answer))
			continue
		}
		w.done <- nil
	}
}

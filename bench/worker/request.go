// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/bench/system"
)

// request is the role.
func request(t *talk, sys system.System, job Job) error {
	seats := make([]system.Requester, job.Seats)
	setup := job.Setup
	for i := range seats {
		setup.Index = job.Setup.Index + i
		seat, err := sys.Join(setup)
		if err != nil {
			return err
		}
		defer seat.Close()
		if seats[i], err = seat.Requester(); err != nil {
			return err
		}
		if err := connect(seats[i], setup.Bytes); err != nil {
			return err
		}
	}
	if err := t.say(Word{Is: "ready"}); err != nil {
		return err
	}
	order, err := t.hear("go")
	if err != nil {
		return err
	}
	c := newCalls(job, order.Span)
	sleepUntil(order.Span.Start)
	if job.Rate > 0 {
		c.openLoop(seats)
	} else {
		c.closedLoop(seats)
	}
	result, err := c.result()
	if err != nil {
		return err
	}
	return t.done(result)
}

// connect asks until somebody answers.
func connect(r system.Requester, bytes int) error {
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err = r.Request(body(bytes)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("worker: no reply in 20 s: %w", err)
}

// calls is what the requests of a worker came to.
type calls struct {
	job  Job
	span Span
	stop atomic.Bool

	mu     sync.Mutex
	hist   *hdrhistogram.Histogram
	count  uint64
	errors map[string]uint64
	by     []uint64
	behind uint64
}

func newCalls(job Job, span Span) *calls {
	return &calls{
		job: job, span: span, errors: map[string]uint64{}, by: make([]uint64, job.Responders),
		hist: hdrhistogram.New(1, int64(2*time.Minute), 3),
	}
}

// caller is one request at a time of one seat.
type caller struct {
	*calls
	requester system.Requester
	body      []byte
	number    uint64
}

func (c *calls) caller(r system.Requester) *caller {
	return &caller{calls: c, requester: r, body: body(c.job.Setup.Bytes)}
}

// call sends a request that was to begin at that time. Those that end badly
// count with the time they took, too.
func (c *caller) call(begin int64) {
	c.number++
	mark(c.body, 0, c.number)
	reply, err := c.requester.Request(c.body)
	end := Now()
	by := 0
	if err == nil {
		by, err = c.check(reply)
	}
	if begin < c.span.From || begin >= c.span.To {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.hist.RecordValue(end - begin)
	if err != nil {
		c.errors[err.Error()]++
		return
	}
	c.count++
	c.by[by]++
}

// errDamaged counts replies that are not what was asked for.
var errDamaged = errors.New("another reply than asked for")

func (c *caller) check(reply []byte) (by int, err error) {
	if len(reply) != len(c.body) {
		return 0, errDamaged
	}
	by, number, whole := marked(reply)
	if !whole || number != c.number || by >= len(c.by) {
		return 0, errDamaged
	}
	return by, nil
}

// closedLoop has each caller send its next request when it has a reply.
func (c *calls) closedLoop(seats []system.Requester) {
	var wg sync.WaitGroup
	for _, r := range seats {
		for range c.job.InFlight {
			wg.Go(func() {
				for caller := c.caller(r); !c.stop.Load(); {
					caller.call(Now())
				}
			})
		}
	}
	sleepUntil(c.span.To)
	c.stop.Store(true)
	wg.Wait()
}

// lateness is how long an open loop goes on with what was due and not begun.
const lateness = 3 * time.Second

// openLoop has requests begin at a steady rate, on the seats in turn. Each
// counts from when it was to begin, so waiting for a caller, which is there when
// replies are late, counts as well.
func (c *calls) openLoop(seats []system.Requester) {
	var wg sync.WaitGroup
	due := make([]chan int64, len(seats))
	for i, r := range seats {
		due[i] = make(chan int64, int(c.job.Rate*60)/len(seats)+1)
		for range c.job.InFlight {
			wg.Go(func() {
				caller := c.caller(r)
				for begin := range due[i] {
					if c.stop.Load() {
						c.skip(begin)
						continue
					}
					caller.call(begin)
				}
			})
		}
	}
	c.schedule(due)
	for _, d := range due {
		close(d)
	}
	late := time.AfterFunc(lateness, func() { c.stop.Store(true) })
	defer late.Stop()
	wg.Wait()
}

// skip counts a request that nobody was free to begin.
func (c *calls) skip(begin int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if begin >= c.span.From {
		c.behind++
		_ = c.hist.RecordValue(Now() - begin)
	}
}

// schedule says when each request is due, on a thread of its own: Go's timers
// are a millisecond coarse when a program is idle.
func (c *calls) schedule(due []chan int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
	step := float64(time.Second) / c.job.Rate
	for n := 0; ; n++ {
		at := c.span.Start + int64(float64(n)*step)
		if at >= c.span.To {
			return
		}
		for Now() < at {
			t := unix.NsecToTimespec(at)
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil)
		}
		due[n%len(due)] <- at
	}
}

func (c *calls) result() (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latency, err := c.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return Result{Count: c.count, Latency: latency, Errors: c.errors, By: c.by, Behind: c.behind}, err
}

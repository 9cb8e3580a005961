// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/play"
)

// reportEvery is how often a child says how far it is, in real time.
const reportEvery = 250 * time.Millisecond

// ChildMain is what a program does that was started as a child: it carries out
// the request on stdin, which ends when the parent does. It returns the exit
// status; at the levels in virtual time the process ends before. ctx asks it
// to end early.
func ChildMain(ctx context.Context, stdin io.Reader) int {
	pipe, err := outcomePipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "arke sim child: this command is for arke itself:", err)
		return 1
	}
	// Go handlers and the testing package print; nobody asked for it.
	os.Stdout = os.Stderr
	var req request
	if err := gob.NewDecoder(stdin).Decode(&req); err != nil || len(req.Jobs) == 0 {
		fmt.Fprintln(os.Stderr, "arke sim child: no job:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	c := &child{jobs: req.Jobs, out: newSender(pipe), at: &position{}}
	return c.run(ctx)
}

// child is the state of a child process. Its goroutines end with the process.
type child struct {
	jobs []Job
	out  *sender
	at   *position
}

// position is how far the run is. The player writes it, in the bubble; nobody
// waits for anybody.
type position struct {
	virtual, whole atomic.Int64
	events         atomic.Uint64
}

// reach is play.Options.Progress.
func (p *position) reach(now, end time.Duration) {
	p.virtual.Store(int64(now))
	p.whole.Store(int64(end))
}

func (p *position) message() message {
	return message{
		Virtual: time.Duration(p.virtual.Load()), Whole: time.Duration(p.whole.Load()),
		Events: p.events.Load(),
	}
}

func (c *child) run(ctx context.Context) int {
	job := c.jobs[0]
	if job.Procs > 0 {
		runtime.GOMAXPROCS(job.Procs)
	}
	go c.report(ctx)
	go c.watch(job.watchdog())
	if job.Level == LevelNet {
		outcome, err := playNet(ctx, job, c.at)
		c.end(outcome, "", err)
		return 0
	}
	go func() {
		// Nothing outside the process is to be tidied up.
		<-ctx.Done()
		os.Exit(1)
	}()
	c.bubble()
	return 1 // not reached
}

// bubble plays in a test, which synctest demands, and ends the process.
func (c *child) bubble() {
	os.Args = os.Args[:1] // testing parses flags of its own
	body := func(t *testing.T) {
		ended := false
		defer func() {
			if !ended && t.Failed() { // else it panics, which says it all
				text := "the run ended like a failed test; what it printed says why"
				c.out.send(message{End: &ending{Error: text, Crashed: true}})
			}
		}()
		outcome, difference, err := c.play(t)
		c.end(outcome, difference, err)
		ended = true
	}
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "sim", F: body}}, nil, nil)
}

// play carries out the request: one job, or two that are compared.
func (c *child) play(t *testing.T) (*Findings, string, error) {
	if len(c.jobs) == 1 && c.jobs[0].Level == LevelStack {
		o, err := playStack(t, c.jobs[0], c.at)
		return o, "", err
	}
	first, trace, err := playSim(t, c.jobs[0], c.at)
	if err != nil || len(c.jobs) == 1 {
		return first, "", err
	}
	_, other, err := playSim(t, c.jobs[1], c.at)
	if err != nil {
		return nil, "", err
	}
	return nil, trace.Diff(other), nil
}

// end sends the last message.
func (c *child) end(o *Findings, difference string, err error) {
	e := &ending{Outcome: o, Difference: difference}
	if err != nil {
		e.Outcome, e.Error, e.Level = nil, err.Error(), errors.Is(err, play.ErrUnsupported)
	}
	c.out.send(message{End: e})
}

// report tells the parent now and then how far the run is.
func (c *child) report(ctx context.Context) {
	ticks := time.NewTicker(reportEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			c.out.send(c.at.message())
		}
	}
}

// watch ends the process, with all stacks, when virtual time stands still for
// so long in real time.
func (c *child) watch(limit time.Duration) {
	last, since := int64(-1), time.Now()
	for {
		time.Sleep(min(limit/4, time.Second))
		if now := c.at.virtual.Load(); now != last {
			last, since = now, time.Now()
			continue
		}
		if time.Since(since) < limit {
			continue
		}
		stacks := make([]byte, 4<<20)
		os.Stderr.Write(stacks[:runtime.Stack(stacks, true)])
		text := fmt.Sprintf("the run hangs: no progress for %v of real time at %v", limit, time.Duration(last))
		c.out.send(message{End: &ending{Error: text, Crashed: true}})
		os.Exit(1)
	}
}

// request is what a parent sends to its child. Two jobs are to be compared.
type request struct {
	Jobs []Job
}

// message is what a child sends: either how far it is, or, as the last thing,
// how it ended.
type message struct {
	Virtual, Whole time.Duration
	Events         uint64
	End            *ending
}

// ending is the last message of a child.
type ending struct {
	Outcome    *Findings
	Difference string // of the two jobs of a comparison
	Error      string // why there is no outcome
	Level      bool   // the error is that the level can't do it
	Crashed    bool   // the error is that the run hung
}

// sender writes messages, from any goroutine; nothing follows an ending.
type sender struct {
	mu    sync.Mutex
	enc   *gob.Encoder // guarded by mu, like all below
	ended bool
}

func newSender(w io.Writer) *sender { return &sender{enc: gob.NewEncoder(w)} }

func (s *sender) send(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = m.End != nil
	// A parent that does not read any more is gone, and the end of standard
	// input says so better.
	_ = s.enc.Encode(m)
}

// peakMemory is the most memory that this process had resident, in bytes; 0 =
// the system does not tell. It is not taken from rusage: there a process that
// was just started counts what its parent used.
func peakMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, _ := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/zones"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

const (
	size       = 3                // relays, and members
	absence    = 3 * time.Second  // how long the killed relay is away at most
	returnTime = 20 * time.Second // until its member must serve again
	assembly   = 10 * time.Second // until the caller must see all members
)

// Config says how to run the demo. Executable is required.
type Config struct {
	// Executable is the arke binary.
	Executable string
	// Duration is how long the caller asks, unless the killed relay's return
	// takes longer; default 14 s. The relay is killed after a third of it.
	Duration time.Duration
	// Requests is how many requests it sends at least, however long that takes.
	Requests int
	// Concurrency is the number of requests under way; default 32.
	Concurrency int
	// Progress is told what happens, one line each; nil = nothing.
	Progress io.Writer
}

func (c Config) withDefaults() Config {
	c.Duration = cmp.Or(c.Duration, 14*time.Second)
	c.Concurrency = cmp.Or(c.Concurrency, 32)
	return c
}

// Run runs the demo to its end and reports. An error means that it could not
// be run; whether it went well, the report's Err says.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg = cfg.withDefaults()
	if cfg.Executable == "" {
		return Report{}, errors.New("demo: no executable")
	}
	begin := time.Now()
	crew, err := newCrew(cfg.Executable, "demo")
	if err != nil {
		return Report{}, err
	}
	defer crew.dismiss()
	s := &story{cfg: cfg, crew: crew, narrator: narrator{cfg.Progress, begin}}
	if err := s.tell(ctx); err != nil {
		return Report{}, err
	}
	if ctx.Err() != nil {
		return Report{}, ctx.Err()
	}
	report := s.tally.report()
	report.Zones = len(zones.Names())
	report.Elapsed = time.Since(begin)
	return report, nil
}

// story is one run.
type story struct {
	narrator
	cfg   Config
	crew  *crew
	tally *tally // from when the caller begins to ask
}

// narrator tells what happens, and when.
type narrator struct {
	to    io.Writer // nil = nobody listens
	begin time.Time
}

func (n narrator) say(format string, args ...any) {
	if n.to != nil {
		fmt.Fprintf(n.to, "%5.1f s  %s\n", time.Since(n.begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

// attach attaches this program to a relay.
func attach(ctx context.Context, cfg client.Config) (*client.Client, error) {
	c, err := client.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (s *story) tell(ctx context.Context) error {
	if err := s.crew.gather(ctx, size); err != nil {
		return err
	}
	s.say("%d relays form a network, %d members serve %s", size, size, cluster)
	c, err := attach(ctx, client.Config{Socket: s.crew.socket(1)})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := sees(ctx, c, cluster, size); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.tally = newTally(memberName(size), time.Now())
	names := zones.Names()
	caller := &caller{messenger: c, names: names, oracle: zones.NewOracle(names), tally: s.tally}
	over := make(chan struct{})
	var chronicle sync.WaitGroup
	chronicle.Go(func() { s.report(over) })
	accident := make(chan struct{})
	chronicle.Go(func() {
		defer close(accident)
		if err := s.accident(ctx); err != nil {
			cancel(err)
		}
	})
	caller.ask(ctx, s.cfg.Concurrency, func(asked int) bool {
		return asked >= s.cfg.Requests && time.Since(s.tally.begin) >= s.cfg.Duration && closed(accident)
	})
	close(over)
	chronicle.Wait()
	return context.Cause(ctx)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sees waits until the caller's relay knows so many members of a cluster.
func sees(ctx context.Context, c patterns.Messenger, cluster string, count int) error {
	ctx, cancel := context.WithTimeout(ctx, assembly)
	defer cancel()
	var seen int
	var err error
	all := func() bool {
		members, failed := c.Members(ctx, cluster)
		seen, err = len(members), failed
		return seen == count
	}
	if !wait(ctx, all) {
		return fmt.Errorf("demo: the caller sees %d of %d members of %s: %w", seen, count, cluster, errors.Join(ctx.Err(), err))
	}
	return nil
}

// accident kills the last relay after a third of the time, starts it again, and
// waits until its member serves. The end of ctx ends it early.
func (s *story) accident(ctx context.Context) error {
	if !wait(ctx, func() bool { return time.Since(s.tally.begin) >= s.cfg.Duration/3 }) {
		return nil
	}
	s.say("relay %d is killed with SIGKILL", size)
	s.tally.kill()
	s.crew.relays[size-1].kill()

	away := time.Now()
	if !wait(ctx, func() bool { return time.Since(away) >= min(absence, s.cfg.Duration/4) }) {
		return nil
	}
	s.say("relay %d is started again", size)
	s.tally.revive()
	if err := s.crew.startRelay(size); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	if wait(ctx, func() bool { _, _, _, returned := s.tally.progress(); return returned }) {
		s.say("member %s serves again", memberName(size))
	}
	return nil
}

// wait polls until happened, and says false if ctx ends first.
func wait(ctx context.Context, happened func() bool) bool {
	for !happened() {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// report says every second how far it is.
func (s *story) report(over <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := 0
	for {
		select {
		case <-tick.C:
			n, wrong, lost, _ := s.tally.progress()
			s.say("%7d requests, %d per second, wrong %d, lost %d", n, n-last, wrong, lost)
			last = n
		case <-over:
			return
		}
	}
}

// requestTime bounds one request; a longer one is lost.
const requestTime = 10 * time.Second

// caller asks the questions of the list and checks the replies.
type caller struct {
	messenger patterns.Messenger
	names     []string
	oracle    *zones.Oracle
	tally     *tally
	next      atomic.Int64
}

// ask asks from so many goroutines until enough says so or ctx ends, and
// waits for the last reply.
func (c *caller) ask(ctx context.Context, goroutines int, enough func(asked int) bool) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(c.next.Add(1)) - 1
				if enough(n) {
					return
				}
				c.one(ctx, n)
			}
		})
	}
	wg.Wait()
}

// one asks question n. A request that our own end cut off does not count.
func (c *caller) one(ctx context.Context, n int) {
	question := zones.Nth(n, c.names, c.oracle)
	body, err := json.Marshal(question)
	if err != nil {
		panic("BUG: a question has no JSON: " + err.Error())
	}
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var how patterns.RequestReport
	begin := time.Now()
	reply, err := c.messenger.Request(limited, cluster, patterns.Message{Body: body}, patterns.Idempotent(), patterns.Report(&how))
	end := time.Now()
	if err != nil && ctx.Err() != nil {
		return
	}
	a := answer{attempts: how.Attempts, begin: begin, end: end, err: err}
	if err == nil {
		a.member = reply.Headers.Get(zones.HeaderMember)
		a.wrong = c.check(question, reply.Body)
	}
	c.tally.add(a)
}

// check compares a reply with the caller's own computation.
func (c *caller) check(q zones.Question, body []byte) error {
	want, err := c.oracle.Answer(q)
	if err != nil {
		return err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, body) {
		return fmt.Errorf("to %+v the reply was %q instead of %q", q, body, text)
	}
	return nil
}

// ServeMember is a member process of the demo: it serves the cluster through
// the relay at socket until ctx ends, then drains.
func ServeMember(ctx context.Context, name, socket string, stdout io.Writer, log *zap.Logger) error {
	c, err := attach(ctx, client.Config{Socket: socket, Name: name, Logger: log})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Serve(ctx, cluster, &zones.Service{Name: name}, patterns.Limits{}); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "arke demo member ready")
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return c.Shutdown(drain)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// player is one run.
type player struct {
	// Immutable after newPlayer.
	level    Level
	scenario scenario.Scenario
	options  Options
	log      *zap.Logger
	crew     *crew
	record   *recorder
	pairs    []pair // who calls what
	index    *scenario.Index

	start  time.Duration // zero of the scenario's times; set before the workload begins
	safety time.Duration // when the safety phase ends; likewise

	under sync.WaitGroup // requests and actions under way
	mu    sync.Mutex
	errs  []error // guarded by mu; of the timeline
}

// Play runs an expanded scenario and returns what happened. It closes the
// level. An error means that the run itself was not possible; a scenario that
// went badly is a history like any other. ctx ends the run early, with ctx's
// error.
func Play(ctx context.Context, l Level, s scenario.Scenario, o Options) (*history.History, error) {
	p, err := newPlayer(l, s, o)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	err = p.run(ctx)
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	return p.record.history(p), err
}

func newPlayer(l Level, s scenario.Scenario, o Options) (*player, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if s.Settle == 0 {
		s.Settle = scenario.Duration(defaultCalm)
	}
	p := &player{level: l, scenario: s, options: o, log: o.Logger.Named("play"), record: newRecorder(), index: scenario.NewIndex(s)}
	crew, err := newCrew(p)
	if err != nil {
		return nil, err
	}
	p.crew, p.pairs = crew, pairsOf(s)
	return p, nil
}

func (p *player) run(ctx context.Context) error {
	p.level.SetLinks(p.link)
	p.record.rough(p.rough())
	if w, ok := p.level.(Witness); ok && publishes(p.scenario) {
		w.Copies(p.record.copied)
	}
	if err := p.warmUp(ctx); err != nil {
		return err
	}
	p.start = p.level.Now()
	p.safety = p.start + p.scenario.Duration.D()
	p.record.phases(p.start, p.safety)
	if until := p.start + p.options.Until; p.options.Until > 0 && until < p.safety {
		p.safety = until
	}
	p.launch()
	if err := p.pass(ctx, p.safety); err != nil {
		return err
	}
	if p.options.Until > 0 && p.options.Until < p.scenario.Duration.D() {
		return p.finish()
	}
	if err := p.level.Calm(); err != nil {
		return err
	}
	p.crew.calm()
	p.record.healed(p.level.Now())
	p.probe()
	if err := p.pass(ctx, p.safety+p.scenario.Settle.D()); err != nil {
		return err
	}
	return p.finish()
}

// link is the model of the link from one node to another.
func (p *player) link(from, to string) scenario.Link {
	if l, ok := p.index.Link(from, to); ok {
		return l
	}
	return scenario.Link{Latency: scenario.Duration(5 * time.Millisecond), Jitter: scenario.Duration(time.Millisecond)}
}

// rough lists the callers and members whose links lose packets or are narrow.
func (p *player) rough() (pairs [][2]string) {
	for _, o := range p.pairs {
		for _, c := range p.scenario.Clusters {
			if c.Name != o.cluster {
				continue
			}
			for _, member := range c.Members {
				from, to := p.crew.by[o.node].carrier().name, p.crew.by[member].carrier().name
				if l := p.link(from, to); from != to && (l.Loss > 0 || l.Mbps > 0) {
					pairs = append(pairs, [2]string{o.node, member})
				}
			}
		}
	}
	return pairs
}

// launch plans everything that happens in the safety phase.
func (p *player) launch() {
	for _, n := range p.crew.late() {
		p.at(p.start+n.start, "start "+n.name, func() { p.crew.start(n) })
	}
	p.crew.plan()
	for i, a := range p.scenario.Timeline {
		p.at(p.start+a.At.D(), fmt.Sprintf("action %d %s", i, a.Do), func() { p.act(i, a) })
	}
	for i, w := range p.scenario.Workload {
		p.work(i, w, p.start)
	}
	for _, o := range p.pairs {
		p.observe(o)
	}
	p.sample()
}

// at has f run at that time unless the run is over by then.
func (p *player) at(at time.Duration, name string, f func()) {
	p.under.Add(1)
	p.level.At(at, name, func() {
		defer p.under.Done()
		f()
	})
}

// pass lets time pass.
func (p *player) pass(ctx context.Context, until time.Duration) error {
	for p.level.Now() < until {
		p.level.Sleep(min(until, p.level.Now()+time.Second))
		if p.options.Progress != nil {
			p.options.Progress(p.level.Now(), p.safety+p.scenario.Settle.D())
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.failed(); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for what is under way.
func (p *player) finish() error {
	p.record.ended(p.level.Now())
	p.level.Sleep(p.record.lastDeadline(p.level.Now()) + graceAtEnd)
	p.crew.shut()
	p.under.Wait()
	return p.failed()
}

func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}

func (p *player) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errs) == 0 {
		return nil
	}
	return p.errs[0]
}

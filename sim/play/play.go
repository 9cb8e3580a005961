// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// player is one run.
type player struct {
	// Immutable after newPlayer.
	level    Level
	scenario scenario.Scenario
	options  Options
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
	s.Settle = cmp.Or(s.Settle, scenario.Duration(defaultCalm))
	p := &player{level: l, scenario: s, options: o, record: newRecorder(), index: scenario.NewIndex(s)}
	crew, err := newCrew(p)
	if err != nil {
		return nil, err
	}
	p.crew = crew
	p.pairs = slices.DeleteFunc(pairsOf(s), func(o pair) bool { return !mayCall(crew.by[o.node], o.cluster) })
	return p, nil
}

func (p *player) run(ctx context.Context) error {
	p.level.SetLinks(p.link)
	rough := p.rough()
	p.record.note(func(h *history.History) { h.Rough, h.Crossings = rough, p.crew.crossings() })
	p.overhear()
	if err := (warmUp{p}).wait(ctx); err != nil {
		return err
	}
	p.start = p.level.Now()
	p.safety = p.start + p.scenario.Duration.D()
	p.record.note(func(h *history.History) { h.Start, h.Safety = p.start, p.safety })
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

// overhear has what nodes send to each other recorded, if the level hears it.
func (p *player) overhear() {
	w, ok := p.level.(Witness)
	if !ok || !publishes(p.scenario) && len(p.scenario.Gateways) == 0 {
		return
	}
	var copies func(history.Copy)
	var hops func(history.Hop)
	if publishes(p.scenario) {
		copies = func(c history.Copy) { add(p.record, &p.record.h.Copies, c) }
	}
	if len(p.scenario.Gateways) > 0 {
		hops = func(h history.Hop) { add(p.record, &p.record.h.Hops, h) }
	}
	w.Overhear(copies, hops)
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
			if job, ok := p.crew.job(o.cluster); !ok || c.Name != job.Name {
				continue
			}
			for _, member := range c.Members {
				if p.crew.isRough(p.crew.by[o.node].carrier(), p.crew.by[member].carrier()) {
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
	p.crew.authority.expire()
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
	now := p.level.Now()
	p.record.note(func(h *history.History) { h.End = now })
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

// warmUp is what a player does before the scenario begins.
type warmUp struct{ *player }

// wait starts the nodes that exist from the beginning and waits until every
// caller sees every member, or until nothing changes any more: a scenario may
// be about nodes that are never let in.
func (p warmUp) wait(ctx context.Context) error {
	begun := p.level.Now()
	early := p.crew.early()
	for i, n := range early {
		p.at(begun+time.Duration(i)*stagger, "start "+n.name, func() { p.crew.start(n) })
	}
	p.under.Wait()
	if err := p.failed(); err != nil {
		return err
	}
	for p.level.Now() < begun+warmUpLimit {
		if p.standing() && p.joined() {
			if len(p.scenario.Subscriptions) > 0 {
				p.level.Sleep(p.level.Now() + subscribersKnown)
			}
			return nil
		}
		p.level.Sleep(p.level.Now() + warmUpLook)
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.level.Now() > begun+settled && !p.strict() {
			return nil
		}
	}
	return fmt.Errorf("play: after %v not every caller sees every member", warmUpLimit)
}

// settled is how long a warm-up lasts in which some are kept out on purpose.
const settled = 5 * time.Second

// strict says whether everybody must see everybody: all hold the same keys.
func (p warmUp) strict() bool {
	for _, g := range p.scenario.Nodes {
		if g.Key != "" || g.Certificate == scenario.CertificateNothing {
			return false
		}
	}
	for _, c := range p.scenario.Clusters {
		if len(c.Keys) > 0 {
			return false
		}
	}
	return true
}

// standing says whether each caller sees as many live members as there are.
func (p warmUp) standing() bool {
	want := p.crew.wanted()
	sees := make([]bool, len(p.pairs))
	for i, o := range p.pairs {
		p.at(p.level.Now(), "look "+o.node+" "+o.cluster, func() { sees[i] = p.sees(o, want(o)) })
	}
	p.under.Wait()
	return !slices.Contains(sees, false)
}

// subscribersKnown is how long a network stands before something is published:
// a subscription that was acknowledged by a node that was alone then is told to
// others when it has joined.
const subscribersKnown = time.Second

// joined says whether each node that lives and has to do with topics has
// found another one. Only who calls a cluster is known to see others.
func (p warmUp) joined() bool {
	about := make(map[*crewNode]bool)
	for _, n := range p.crew.nodes {
		about[n.carrier()] = about[n.carrier()] || len(n.subscriptions) > 0
	}
	for _, w := range p.scenario.Workload {
		for _, name := range w.From {
			n := p.crew.by[name].carrier()
			about[n] = about[n] || w.Kind == "publish"
		}
	}
	lone := !slices.ContainsFunc(p.crew.nodes[1:], func(n *crewNode) bool { return n.relay == nil })
	alone := 0
	for _, n := range p.crew.nodes {
		l := n.alive()
		if l == nil || !about[n] || lone {
			continue
		}
		ctx, cancel := l.Within(lookWithin)
		status, err := l.Status(ctx)
		cancel()
		if err != nil || status.Peers == 0 {
			alone++
		}
	}
	return alone == 0
}

// sees says whether a caller, if it lives, sees so many live members.
func (p warmUp) sees(o pair, want int) bool {
	l := p.crew.by[o.node].alive()
	if l == nil {
		return true
	}
	members, known := p.members(l, o.cluster)
	live := 0
	for _, m := range members {
		if m.State == "live" {
			live++
		}
	}
	return known && live >= want
}

// pair is a node and a cluster that it calls.
type pair struct{ node, cluster string }

// pairsOf lists who calls what, in the scenario's order.
func pairsOf(s scenario.Scenario) (all []pair) {
	seen := make(map[pair]bool)
	add := func(w scenario.Work) {
		if w.Kind == "publish" { // to a topic
			return
		}
		for _, name := range w.From {
			if o := (pair{name, w.To}); !seen[o] {
				seen[o] = true
				all = append(all, o)
			}
		}
	}
	for _, w := range s.Workload {
		add(w)
	}
	for _, a := range s.Timeline {
		if a.Work != nil {
			add(*a.Work)
		}
	}
	return all
}

// observer looks from time to time at what one node sees of one cluster.
type observer struct {
	p     *player
	pair  pair
	node  *crewNode
	every time.Duration
	life  *life             // of which seen tells
	seen  map[string]string // member to state
	whom  map[string]shown
}

// shown is who a member is that an observer has seen.
type shown struct{ peer, network string }

// observe starts to look. How often depends on how much there is to look at:
// about 20,000 members a second of the level's time, but at least every 10 ms
// and at most every 500 ms.
func (p *player) observe(o pair) {
	members := 1
	if job, ok := p.crew.job(o.cluster); ok {
		members = max(1, len(job.Members))
	}
	every := time.Duration(members*len(p.pairs)) * time.Second / 20_000
	v := &observer{p: p, pair: o, node: p.crew.by[o.node], every: min(max(every, 10*time.Millisecond), 500*time.Millisecond)}
	v.forget()
	v.plan(p.level.Now())
}

func (v *observer) forget() {
	v.seen, v.whom = make(map[string]string), make(map[string]shown)
}

func (v *observer) plan(at time.Duration) {
	if at >= v.p.safety+v.p.scenario.Settle.D() {
		return
	}
	v.p.at(at, "look "+v.pair.node+" "+v.pair.cluster, func() {
		v.look()
		v.plan(v.p.level.Now() + v.every)
	})
}

func (v *observer) look() {
	l := v.node.alive()
	if l == nil {
		return
	}
	members, known := v.p.members(l, v.pair.cluster)
	if !known || v.node.alive() != l {
		return
	}
	now := v.p.level.Now()
	if l != v.life { // a new life knows nothing of what the last one saw
		v.life = l
		v.forget()
	}
	var changes []history.View
	note := func(id string, of shown, state string) {
		changes = append(changes, history.View{At: now, Node: v.pair.node, Cluster: v.pair.cluster, Member: id, Peer: of.peer, Network: of.network, State: state})
	}
	now2 := make(map[string]bool, len(members))
	for _, m := range members {
		now2[m.ID] = true
		if v.seen[m.ID] != m.State {
			v.seen[m.ID], v.whom[m.ID] = m.State, shown{m.Peer, lender(v.node, m)}
			note(m.ID, v.whom[m.ID], m.State)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.seen)) {
		if !now2[id] {
			note(id, v.whom[id], "")
			delete(v.seen, id)
			delete(v.whom, id)
		}
	}
	v.p.record.note(func(h *history.History) { h.Views = append(h.Views, changes...) })
}

// members returns what a node sees of a cluster, and whether it knows.
func (p *player) members(l *life, cluster string) ([]patterns.Member, bool) {
	ctx, cancel := l.Within(lookWithin)
	defer cancel()
	members, err := l.Members(ctx, cluster)
	if errors.Is(err, patterns.ErrNoMembers) {
		return nil, true
	}
	return members, err == nil
}

// sample asks every node from time to time what it uses: each second up to a
// hundred nodes, less often with more.
func (p *player) sample() {
	every := max(time.Second, time.Duration(len(p.crew.nodes))*10*time.Millisecond)
	for _, n := range p.crew.nodes {
		if n.relay != nil {
			continue // what it uses of the network is its relay's
		}
		p.sampleNode(n, p.level.Now(), every)
	}
}

func (p *player) sampleNode(n *crewNode, at, every time.Duration) {
	if at > p.safety+p.scenario.Settle.D() {
		return
	}
	p.at(at, "sample "+n.name, func() {
		if l := n.alive(); l != nil {
			ctx, cancel := l.Within(time.Second)
			status, err := l.Status(ctx)
			cancel()
			if err == nil {
				s := sampleOf(p.level.Now(), n.name, status)
				if holder, ok := l.Participant.(Holder); ok {
					s.Held = holder.Held()
				}
				add(p.record, &p.record.h.Samples, s)
			}
		}
		p.sampleNode(n, at+every, every)
	})
}

func sampleOf(at time.Duration, name string, s node.Status) history.Sample {
	out := history.Sample{At: at, Node: name, Sent: s.SentBytes, Queued: s.QueuedBytes, Leases: s.Anchors.Leases}
	for _, l := range s.Links {
		if l.State != "opening" {
			out.Links++
		}
	}
	for _, q := range s.Queues {
		out.Waiting += q.Waiting
		out.Running += q.Running
	}
	return out
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// warmUp starts the nodes that exist from the beginning and waits until every
// caller sees every member, or until nothing changes any more: a scenario may
// be about nodes that are never let in.
func (p *player) warmUp(ctx context.Context) error {
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
func (p *player) strict() bool {
	for _, n := range p.crew.nodes {
		if n.key != "" {
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
func (p *player) standing() bool {
	want := make(map[string]int)
	for _, n := range p.crew.nodes {
		if n.alive() == nil {
			continue
		}
		for _, job := range n.jobs {
			want[job.Name]++
		}
	}
	sees := make([]bool, len(p.pairs))
	for i, o := range p.pairs {
		p.at(p.level.Now(), "look "+o.node+" "+o.cluster, func() { sees[i] = p.sees(o, want[o.cluster]) })
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
func (p *player) joined() bool {
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
func (p *player) sees(o pair, want int) bool {
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

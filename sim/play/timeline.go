// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// act does one primitive action of the timeline.
func (p *player) act(index int, a scenario.Action) {
	p.record.fault(p.level.Now(), a, p.back(a))
	var err error
	switch a.Do {
	case "start", "restart", "stop", "crash", "silence", "pause", "resume", "slow", "skew", "router":
		for _, name := range a.Nodes {
			if err = p.strike(p.crew.by[name], a); err != nil {
				break
			}
		}
	case "flood":
		p.flood(index, a)
	default:
		err = p.level.Apply(a)
	}
	if err != nil {
		p.fail(fmt.Errorf("%s at %v: %w", a.Do, a.At.D(), err))
	}
}

// back says whether an action gives links the model of the file again.
func (p *player) back(a scenario.Action) bool {
	if a.Do != "degrade" || a.Link == nil {
		return false
	}
	for _, l := range links(a.Between) {
		normal, is := p.link(l[0], l[1]), *a.Link
		normal.Between, is.Between = nil, nil
		if !reflect.DeepEqual(normal, is) {
			return false
		}
	}
	return true
}

// strike does an action to one node.
func (p *player) strike(n *crewNode, a scenario.Action) error {
	one := a
	one.Nodes = []string{n.name}
	apply := func() error { return p.level.Apply(one) }
	gone := func(*life) error { return apply() }
	switch a.Do {
	case "start", "restart":
		p.crew.start(n)
		p.record.returned(n.name, p.level.Now())
		return nil
	case "stop":
		return p.crew.stop(n, apply)
	case "crash":
		return p.crew.end(n, "crashed", gone)
	case "silence":
		return p.crew.end(n, "silenced", gone)
	case "slow":
		n.mu.Lock()
		defer n.mu.Unlock()
		n.factor = max(1, a.Factor)
		return nil
	}
	return apply()
}

// flood adds a workload for a while.
func (p *player) flood(index int, a scenario.Action) {
	if a.Work == nil {
		return
	}
	w := *a.Work
	if w.Name == "" {
		w.Name = "flood"
	}
	if a.For > 0 {
		w.Stop = w.Start + a.For
	}
	p.work(workFlood+index, w, p.level.Now())
}

// text says for people what an action does.
func text(a scenario.Action) string {
	words := []string{a.Do}
	if len(a.Nodes) > 0 {
		words = append(words, shorten(a.Nodes))
	}
	if len(a.Between) == 2 {
		words = append(words, shorten(a.Between[0]), "→", shorten(a.Between[1]))
	}
	switch a.Do {
	case "slow":
		words = append(words, fmt.Sprintf("×%d", a.Factor))
	case "skew":
		words = append(words, fmt.Sprintf("%v %d ppm", a.Offset.D(), a.Drift))
	case "router":
		words = append(words, a.Mode)
	case "flood":
		words = append(words, fmt.Sprintf("%s %g/s", a.Work.To, a.Work.Rate))
	}
	return strings.Join(words, " ")
}

func shorten(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%s … (%d)", strings.Join(names[:5], ","), len(names))
	}
	return strings.Join(names, ",")
}

// faultOf makes the record of an action, or nil if it is not a fault but the
// end of one.
func faultOf(at time.Duration, a scenario.Action) *history.Fault {
	switch a.Do {
	case "start", "restart", "resume", "mend", "unclog", "heal":
		return nil
	case "slow":
		if a.Factor <= 1 {
			return nil
		}
	case "router":
		if a.Mode == "" {
			return nil
		}
	case "skew":
		if a.Offset == 0 && a.Drift == 0 {
			return nil
		}
	}
	f := &history.Fault{At: at, Until: -1, Do: a.Do, Text: text(a)}
	f.Nodes = append(f.Nodes, a.Nodes...)
	for _, side := range a.Between {
		f.Nodes = append(f.Nodes, side...)
		f.Between = append(f.Between, slices.Clone(side))
	}
	switch a.Do {
	case "corrupt", "break":
		f.Until = at
	case "flood":
		if a.For > 0 {
			f.Until = at + a.For.D()
		}
	}
	return f
}

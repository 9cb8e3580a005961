// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
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
	case "start", "restart", "stop", "crash", "silence", "pause", "resume", "slow", "skew", "router", "attack", "move":
		for _, name := range a.Nodes {
			if err = p.strike(p.crew.by[name], a); err != nil {
				break
			}
		}
	case "flood":
		p.flood(index, a)
	case "rotate":
		err = p.crew.safe.rotate(a)
	case "ban":
		err = p.crew.safe.ban(a)
	case "revoke":
		err = p.crew.authority.revoke(a)
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
		if a.Identity != "" {
			n.mu.Lock()
			n.spec.Identity++
			n.mu.Unlock()
		}
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

// acted notes what an adversary has done.
func (p *player) acted(name, what string, count int) {
	add(p.record, &p.record.h.Acts, history.Act{At: p.level.Now(), Node: name, What: what, Count: count})
	p.level.Note(name, fmt.Sprintf("%s, %d times", what, count))
}

// flood adds a workload for a while.
func (p *player) flood(index int, a scenario.Action) {
	if a.Work == nil {
		return
	}
	w := *a.Work
	w.Name = cmp.Or(w.Name, "flood")
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
	case "attack":
		words = append(words, a.Mode, a.On)
	case "rotate":
		words = append(words, a.On)
	case "flood":
		words = append(words, fmt.Sprintf("%s %g/s", a.Work.To, a.Work.Rate))
	}
	return strings.TrimSpace(strings.Join(words, " "))
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
	case "router", "attack":
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
	case "corrupt", "break", "move":
		f.Until = at
	case "rotate", "revoke":
		f.Until = at + scenario.SpreadTakes(a).D()
	case "flood":
		if a.For > 0 {
			f.Until = at + a.For.D()
		}
	}
	return f
}

// openFault is a fault that has not ended.
type openFault struct {
	scenario.Action
	index int                // in the history
	left  map[[2]string]bool // degrade: the links that are still degraded
}

// ends says whether action a undoes the fault.
func (o openFault) ends(a scenario.Action) bool {
	switch a.Do {
	case "resume":
		return o.Do == "pause" && slices.Equal(o.Nodes, a.Nodes)
	case "slow", "router", "skew":
		return o.Do == a.Do && slices.Equal(o.Nodes, a.Nodes)
	case "attack":
		return o.Do == a.Do && a.Mode == "" && slices.Equal(o.Nodes, a.Nodes)
	case "mend":
		return o.Do == "cut" && o.same(a)
	case "unclog":
		return o.Do == "clog" && o.same(a)
	case "degrade":
		return o.Do == "degrade" && o.replaced(a)
	case "heal":
		return slices.Contains([]string{"cut", "clog", "degrade", "pause", "skew", "router"}, o.Do)
	}
	return false
}

func (o openFault) same(a scenario.Action) bool {
	return slices.EqualFunc(o.Between, a.Between, func(x, y []string) bool { return slices.Equal(x, y) })
}

// replaced notes that links get another model, and says whether none of the
// fault's is left. What undoes a degradation may come link by link.
func (o openFault) replaced(a scenario.Action) bool {
	for _, link := range links(a.Between) {
		delete(o.left, link)
		delete(o.left, [2]string{link[1], link[0]})
	}
	return len(o.left) == 0
}

func links(between [][]string) (all [][2]string) {
	if len(between) != 2 {
		return nil
	}
	for _, from := range between[0] {
		for _, to := range between[1] {
			if from != to {
				all = append(all, [2]string{from, to})
			}
		}
	}
	return all
}

// open is a fault that stands from now on.
func open(index int, a scenario.Action) openFault {
	o := openFault{Action: a, index: index}
	if a.Do == "degrade" {
		o.left = make(map[[2]string]bool)
		for _, link := range links(a.Between) {
			o.left[link] = true
		}
	}
	return o
}

// fault records an action: a new fault, the end of one, or both. An action
// that puts things back as they were is only an end.
func (r *recorder) fault(at time.Duration, a scenario.Action, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close(at, func(o openFault) bool { return o.ends(a) })
	if f := faultOf(at, a); f != nil && !back {
		r.h.Faults = append(r.h.Faults, *f)
		if f.Until < 0 {
			r.open = append(r.open, open(len(r.h.Faults)-1, a))
		}
	}
}

// close ends the faults that do. r.mu is held.
func (r *recorder) close(at time.Duration, ends func(o openFault) bool) {
	r.open = slices.DeleteFunc(r.open, func(o openFault) bool {
		end := ends(o)
		if end {
			r.h.Faults[o.index].Until = at
		}
		return end
	})
}

// returned ends what took a node away.
func (r *recorder) returned(node string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close(at, func(o openFault) bool { return history.Removes(o.Do) && slices.Contains(o.Nodes, node) })
}

// healed ends everything that can be ended; lost nodes stay lost.
func (r *recorder) healed(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Safety = at
	r.close(at, func(o openFault) bool { return !history.Removes(o.Do) && o.Do != "attack" }) // adversaries go on
	r.open = nil
}

// touched says whether a node was hit by something that stops it, in a time.
func touched(h *history.History, node string, from, until time.Duration) bool {
	return slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
		return (history.Removes(f.Do) || f.Do == "pause") && slices.Contains(f.Nodes, node) && f.At <= until && (f.Until < 0 || f.Until >= from)
	})
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/arke-mesh/arke/sim/scenario"
)

// drainTime is how long a node that is stopped may take.
const drainTime = 30 * time.Second

// Apply implements play.Level.
func (n *Net) Apply(a scenario.Action) error {
	if n.isClosed() {
		return ErrClosed
	}
	switch a.Do {
	case "cut", "mend", "clog", "unclog", "corrupt", "degrade":
		return n.disturb(a)
	case "heal":
		return n.heal(false)
	}
	for _, name := range a.Nodes {
		if err := n.strike(name, a); err != nil {
			return err
		}
	}
	return nil
}

// disturb does an action that hits wires.
func (n *Net) disturb(a scenario.Action) error {
	if len(a.Between) != 2 || len(a.Between[0]) == 0 || len(a.Between[1]) == 0 {
		return fmt.Errorf("netns: %s needs two sets of nodes", a.Do)
	}
	from, to := a.Between[0], a.Between[1]
	switch a.Do {
	case "cut":
		n.wires.cutOff(from, to, true)
	case "mend":
		n.wires.cutOff(from, to, false)
	case "clog":
		n.wires.clog(from, to)
	case "unclog":
		n.router.resume(n.wires.unclog(from, to))
	case "corrupt":
		n.wires.corrupt(from[0], to[0])
	case "degrade":
		if a.Link == nil {
			return errors.New("netns: degrade needs a link")
		}
		n.wires.degrade(from, to, modelOf(*a.Link))
	}
	return nil
}

// strike does an action that hits one node.
func (n *Net) strike(name string, a scenario.Action) error {
	switch a.Do {
	case "skew":
		return unsupported("all processes share the machine's clock")
	case "router":
		return unsupported("the router of a real node does what it does")
	case "stop", "crash", "silence", "pause", "resume":
	default:
		return unsupported("action " + a.Do)
	}
	p, err := n.known(name)
	if err != nil {
		return err
	}
	p.take()
	defer p.give()
	if p.life == nil {
		return fmt.Errorf("netns: node %s was never started", name)
	}
	switch a.Do {
	case "stop":
		return stop(p)
	case "crash":
		p.life.process.kill()
	case "silence":
		n.wires.power(name, false) // first: nobody may hear that it dies
		p.life.process.kill()
		p.vacate()
	case "pause", "resume":
		return pause(p, a.Do == "pause")
	}
	return nil
}

// stop drains a node, if the player has not done that already.
func stop(p *place) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return p.life.Shutdown(ctx)
}

// pause stops a node where it is. One that is gone can't be paused, and need
// not go on.
func pause(p *place, on bool) error {
	if err := p.life.process.pause(on); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("netns: node %s: %w", p.name, err)
	}
	return nil
}

// Calm implements play.Level.
func (n *Net) Calm() error {
	return n.heal(true)
}

// heal ends the faults of wires and resumes paused nodes; with calm nothing is
// lost at random any more, either.
func (n *Net) heal(calm bool) error {
	n.router.resume(n.wires.heal(calm))
	var errs []error
	for _, p := range n.list() {
		p.take()
		if p.alive() {
			errs = append(errs, pause(p, false))
		}
		p.give()
	}
	return errors.Join(errs...)
}

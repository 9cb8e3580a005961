// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"

	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Apply implements play.Level.
func (s *Stack) Apply(a scenario.Action) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	switch a.Do {
	case "heal":
		s.net.heal()
		return nil
	case "cut", "mend", "clog", "unclog", "corrupt", "degrade":
		if len(a.Between) != 2 {
			return fmt.Errorf("stack: %s needs two sides", a.Do)
		}
		s.net.between(a.Between[0], a.Between[1], func(p *path) { p.apply(a) })
		return nil
	}
	for _, name := range a.Nodes {
		if err := s.strike(name, a); err != nil {
			return err
		}
	}
	return nil
}

// apply does an action to one path.
func (p *path) apply(a scenario.Action) {
	switch a.Do {
	case "cut":
		p.set(&p.cut, true)
	case "mend":
		p.set(&p.cut, false)
	case "clog":
		p.set(&p.clogged, true)
	case "unclog":
		p.set(&p.clogged, false)
	case "corrupt":
		p.corrupt++
	case "degrade":
		if a.Link != nil {
			p.link.SetModel(modelOf(*a.Link))
		}
	}
}

// strike does an action to one node. It needs net.mu.
func (s *Stack) strike(name string, a scenario.Action) error {
	m := s.net.machine(name)
	switch a.Do {
	case "stop": // the player has shut it down
	case "crash":
		s.lose(m, exited)
	case "silence":
		s.lose(m, silent)
	case "pause":
		if m.alive() {
			m.clock.pause()
			m.proc.freeze(true)
		}
	case "resume":
		s.net.resumeLocked(m.proc)
	case "skew":
		m.clock.set(a.Offset.D(), a.Drift)
	default:
		return fmt.Errorf("%w: stack: action %q", play.ErrUnsupported, a.Do)
	}
	return nil
}

// lose ends the process of a machine.
func (s *Stack) lose(m *machine, how state) {
	if m.proc != nil {
		m.clock.resume()
		m.proc.leave(how)
	}
}

// resume lets a paused process go on.
func (n *network) resume(p *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumeLocked(p)
}

func (n *network) resumeLocked(p *process) {
	if p != nil && p.machine.proc == p {
		p.freeze(false)
		p.machine.clock.resume()
	}
}

// resumeAll lets everybody go on.
func (n *network) resumeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.machines {
		n.resumeLocked(m.proc)
	}
}

// Calm implements play.Level.
func (s *Stack) Calm() error {
	s.net.resumeAll()
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.heal()
	s.net.lossless = true
	for _, m := range s.net.machines {
		m.clock.set(0, 0)
	}
	for _, p := range s.net.paths {
		p.corrupt = 0
		model := p.link.Model()
		model.Loss = 0
		p.link.SetModel(model)
	}
	return nil
}

func modelOf(l scenario.Link) link.Model {
	return link.Model{
		Latency: l.Latency.D(), Jitter: l.Jitter.D(), Loss: uint32(l.Loss), Mbps: l.Mbps, Queue: int(l.Queue),
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Apply implements play.Level.
func (w *World) Apply(a scenario.Action) error {
	switch a.Do {
	case "cut":
		w.n.CutOneWay(a.Between[0], a.Between[1])
	case "mend":
		w.n.Mend(a.Between[0], a.Between[1])
	case "clog":
		w.n.Clog(a.Between[0], a.Between[1], true)
	case "unclog":
		w.n.Clog(a.Between[0], a.Between[1], false)
	case "corrupt":
		w.n.Corrupt(a.Between[0][0], a.Between[1][0])
	case "break":
		w.n.Break(a.Between[0], a.Between[1])
	case "degrade":
		w.degrade(a)
	case "heal":
		w.n.Heal()
	default:
		for _, name := range a.Nodes {
			if err := w.strike(name, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// strike does an action that hits one node.
func (w *World) strike(name string, a scenario.Action) error {
	switch a.Do {
	case "stop": // the player has shut it down, its transport is closed
	case "crash":
		w.n.Crash(name)
	case "silence":
		w.n.Silence(name)
	case "pause":
		w.n.Pause(name)
	case "resume":
		w.n.Resume(name)
	case "skew":
		w.n.Skew(name, a.Offset.D(), a.Drift)
	case "router":
		w.n.RouterFault(name, a.Mode)
	default:
		return fmt.Errorf("%w: sim: action %q", play.ErrUnsupported, a.Do)
	}
	return nil
}

func (w *World) degrade(a scenario.Action) {
	m := modelOf(*a.Link)
	for _, from := range a.Between[0] {
		for _, to := range a.Between[1] {
			if from != to {
				w.n.SetLink(from, to, m)
			}
		}
	}
}

func modelOf(l scenario.Link) link.Model {
	return link.Model{Latency: l.Latency.D(), Jitter: l.Jitter.D(), Loss: uint32(l.Loss), Mbps: l.Mbps, Queue: int(l.Queue)}
}

// Calm implements play.Level.
func (w *World) Calm() error {
	w.n.Calm()
	return nil
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"syscall"
	"time"
)

// Stats says how a run gets on.
type Stats struct {
	Events  uint64        // applied
	Steps   uint64        // turns of the driver: events, and waits for the next one
	Queue   int           // events that wait for their time
	Nodes   int           // that run
	Paths   int           // between two hosts, each direction
	Virtual time.Duration // since the network was made
	Real    time.Duration // since the network was made; differs between runs
}

// Stats returns the figures of this moment.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Stats{
		Events: n.trace.Events, Steps: n.steps.Load(), Queue: len(n.queue.events),
		Virtual: time.Duration(n.now()), Real: realNow() - n.born,
	}
	for _, h := range n.hosts {
		s.Paths += len(h.paths)
		if h.proc != nil && h.proc.state == stateUp {
			s.Nodes++
		}
	}
	return s
}

// realNow is the time outside of the bubble, where time.Now does not look.
func realNow() time.Duration {
	var t syscall.Timeval
	if err := syscall.Gettimeofday(&t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

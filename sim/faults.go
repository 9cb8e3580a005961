// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"strings"
)

// inject applies f as an event of its own and returns when that is done, so
// that a fault has a place in the trace. f is called with the lock held.
func (n *Network) inject(name string, f func()) {
	done := make(chan struct{})
	n.mu.Lock()
	if n.stopped {
		f()
		n.mu.Unlock()
		return
	}
	n.soon(key{kind: kindScenario, name: name}, func() {
		n.mu.Lock()
		f()
		n.mu.Unlock()
		close(done)
	})
	n.mu.Unlock()
	<-done
}

// Crash kills the node: its connections are reset and its peers see that one
// latency later. Its own code keeps running, cut off from everything and with
// no new work, until it is closed.
func (n *Network) Crash(name string) {
	n.inject("crash "+name, func() { n.host(name).kill(stateClosed) })
}

// Silence takes the node away without a word, as a power loss does: its peers
// notice nothing until they miss it, at the latest after Config.DeadAfter.
func (n *Network) Silence(name string) {
	n.inject("silence "+name, func() { n.host(name).kill(stateSilent) })
}

// kill ends the process that runs on the host.
func (h *host) kill(s state) {
	if h.proc == nil || h.proc.state != stateUp {
		return
	}
	h.resume() // nothing must keep the lost code from being closed
	h.proc.shut(s)
}

// Pause stops the node while time goes on, as a stopped virtual machine:
// nothing arrives, no timer fires, no handler starts. Handlers that run
// already and sleep by themselves are not held.
func (n *Network) Pause(name string) {
	n.inject("pause "+name, func() { n.host(name).paused = true })
}

// Resume lets a paused node go on with everything that it missed.
func (n *Network) Resume(name string) {
	n.inject("resume "+name, func() { n.host(name).resume() })
}

func (h *host) resume() {
	h.paused = false
	for _, e := range h.parked {
		if e.parked = false; !e.dropped {
			h.n.push(e)
		}
	}
	h.parked = nil
}

// Partition cuts every path between a node of a and one of b, in both
// directions: a black hole. What is on its way is held until Heal.
func (n *Network) Partition(a, b []string) {
	n.inject("partition "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		for _, x := range a {
			for _, y := range b {
				n.cut(n.host(x), n.host(y))
			}
		}
	})
}

// cut cuts both paths between two hosts.
func (n *Network) cut(a, b *host) {
	if a == b {
		return
	}
	for _, p := range []*path{n.path(a, b), n.path(b, a)} {
		if !p.cut {
			p.cut = true
			p.cuts++
		}
	}
	for _, h := range []*host{a, b} {
		other := b
		if h == b {
			other = a
		}
		if h.proc == nil {
			continue
		}
		for _, c := range h.proc.conns[other.index] {
			c.expire(c.endOf(h.proc))
		}
	}
}

// Heal mends every path. What was held arrives one latency later, in order.
func (n *Network) Heal() {
	n.inject("heal", func() {
		for _, id := range n.sortedPaths() {
			n.paths[id].mend(n)
		}
	})
}

func (n *Network) sortedPaths() [][2]uint32 {
	ids := make([][2]uint32, 0, len(n.paths))
	for id := range n.paths {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

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
	n.inject("pause "+name, func() { n.host(name).pause() })
}

// Resume lets a paused node go on with everything that it missed.
func (n *Network) Resume(name string) {
	n.inject("resume "+name, func() { n.host(name).resume() })
}

func (h *host) pause() {
	if !h.paused {
		h.paused = true
		h.n.paused++
	}
}

func (h *host) resume() {
	if !h.paused {
		return
	}
	h.paused = false
	h.n.paused--
	for _, e := range h.parked {
		if e.parked = false; !e.dropped {
			h.n.push(e)
		}
	}
	h.parked = nil
}

// Corrupt flips a bit in the next delivery from one node to the other. TLS
// notices: the connection ends at the receiver, and then at the sender.
func (n *Network) Corrupt(from, to string) {
	n.inject("corrupt "+from+" to "+to, func() { n.path(n.host(from), n.host(to)).corrupt++ })
}

// Calm ends every fault that lasts: it heals all paths, resumes paused nodes,
// sets clocks and routers right, and ends random losses. Links keep their
// latency and bandwidth; what is lost or down stays so.
func (n *Network) Calm() {
	n.inject("calm", func() {
		n.heal()
		for _, h := range n.hosts {
			h.resume()
			h.skew.Store(h.skew.Load().next(n.now(), 0, 0))
			h.fault = ""
			for _, p := range h.paths {
				m := p.link.Model()
				m.Loss = 0
				p.link.SetModel(m)
				p.corrupt = 0
			}
		}
		n.calm = true
	})
}

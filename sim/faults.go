// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
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

// million is what a drift is part of.
const million = 1_000_000

// skew is how far a host's clock is from the bubble's. All numbers are
// integers, so that it is the same on every architecture. Times are in ns. A
// skew does not change any more; the zero value is a right clock.
type skew struct {
	step  time.Duration // of the wall clock
	drift int64         // ppm; above -million
	since int64         // when this drift began
	gone  int64         // what earlier drifts amounted to
}

// drifted is how far the clock has run ahead at a time.
func (s *skew) drifted(now int64) int64 { return s.gone + part(now-s.since, s.drift, million) }

// next is the skew that follows s, without a jump.
func (s *skew) next(now int64, step time.Duration, drift int64) *skew {
	return &skew{step: step, drift: max(drift, 1-million), since: now, gone: s.drifted(now)}
}

// real is how long the clock takes to run on by d, rounded up so that it has
// when that time is over.
func (s *skew) real(d int64) int64 {
	if s.drift == 0 {
		return d
	}
	return d - part(d, s.drift, million+s.drift) + 1
}

// part is n·num/den rounded down, without an overflow.
func part(n, num, den int64) int64 {
	p := n / den * num
	rest := n % den * num
	p += rest / den
	if rest%den < 0 {
		p--
	}
	return p
}

// Skew changes the clock of a node, which is Clock of its Seam: Now and timers.
// From now on it is driftPPM millionths too fast, or too slow if that is
// negative; timers that are set already keep their time. The wall clock is
// ahead by offset, or behind. As in a real process, where Go's monotonic clock
// measures differences, no step of the wall clock is seen between two calls of
// Now: a node has the offset that its host had when its Seam was made. Zeros
// end both.
func (n *Network) Skew(name string, offset time.Duration, driftPPM int) {
	n.inject(fmt.Sprintf("skew %s %v %+d ppm", name, offset, driftPPM), func() {
		h := n.host(name)
		h.skew.Store(h.skew.Load().next(n.now(), offset, int64(driftPPM)))
	})
}

// rule says for two sets of hosts which of the paths between them that do not
// exist yet are blocked: the last rule that fits decides.
type rule struct {
	from, to map[uint32]bool
	clog     bool // else it is about a cut
	on       bool
}

// fewPaths is how many paths are made rather than ruled.
const fewPaths = 64

// ruled applies the rules to a new path.
func (n *Network) ruled(a, b *host) (cut, clogged bool) {
	for _, r := range n.rules {
		switch {
		case !r.from[a.index] || !r.to[b.index]:
		case r.clog:
			clogged = r.on
		default:
			cut = r.on
		}
	}
	return cut, clogged
}

// severed reports whether nothing passes between two hosts, one way or the
// other: both are needed for a connection. It makes no path.
func (n *Network) severed(a, b *host) bool {
	if n.blocks == 0 && len(n.rules) == 0 {
		return false
	}
	return n.deadEnd(a, b) || n.deadEnd(b, a)
}

func (n *Network) deadEnd(a, b *host) bool {
	if p := a.paths[b.index]; p != nil {
		return p.blocked()
	}
	cut, clogged := n.ruled(a, b)
	return cut || clogged
}

// Partition cuts every path between a node of a and one of b, in both
// directions: a black hole. What is on its way is lost, and sent again after
// Heal or Mend as TCP does it, at the next of its retransmissions: within a
// second, as package p2p asks of the kernel.
func (n *Network) Partition(a, b []string) {
	n.inject("partition "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		n.block(a, b, false, true)
		n.block(b, a, false, true)
	})
}

// CutOneWay cuts every path from a node of from to one of to. The other way
// works for as long as a sender does without acknowledgements, which is about
// link.MinRTO; what is sent later waits for Mend as well. New connections need
// both ways.
func (n *Network) CutOneWay(from, to []string) {
	n.inject("cut "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, false, true) })
}

// Mend ends the cut of every path from a node of from to one of to.
func (n *Network) Mend(from, to []string) {
	n.inject("mend "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, false, false) })
}

// Clog holds everything that arrives on the paths from a node of from to one of
// to, until it is called again with on unset; then all of it arrives, in
// order. Nothing is lost and nothing breaks, except for connections on which
// that lasts for Config.DeadAfter. New ones are not made meanwhile.
func (n *Network) Clog(from, to []string, on bool) {
	name := "clog "
	if !on {
		name = "unclog "
	}
	n.inject(name+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, true, on) })
}

// Heal mends every path: it ends all of Partition, CutOneWay and Clog.
func (n *Network) Heal() { n.inject("heal", n.heal) }

func (n *Network) heal() {
	n.rules = nil
	if n.blocks == 0 {
		return
	}
	for _, h := range n.hosts {
		for _, p := range h.sortedPaths() {
			p.block(false, false)
			p.block(true, false)
		}
	}
}

// block blocks or frees the paths from one set of nodes to another one.
func (n *Network) block(from, to []string, clog, on bool) {
	few := len(from)*len(to) <= fewPaths
	r := rule{from: n.indexes(from), to: n.indexes(to), clog: clog, on: on}
	for _, index := range slices.Sorted(maps.Keys(r.from)) {
		a := n.byIndex[index]
		if few {
			for _, name := range to {
				if b := n.host(name); a != b {
					n.path(a, b)
				}
			}
		}
		for _, p := range a.sortedPaths() {
			if r.to[p.to.index] {
				p.block(clog, on)
			}
		}
	}
	if !few {
		n.rules = append(n.rules, r)
	}
}

func (n *Network) indexes(names []string) map[uint32]bool {
	set := make(map[uint32]bool, len(names))
	for _, name := range names {
		set[n.host(name).index] = true
	}
	return set
}

func (h *host) sortedPaths() []*path {
	list := make([]*path, 0, len(h.paths))
	for _, index := range slices.Sorted(maps.Keys(h.paths)) {
		list = append(list, h.paths[index])
	}
	return list
}

// block blocks or frees one path. Connections on a blocked one break when the
// keepalive runs out.
func (p *path) block(clog, on bool) {
	state := &p.cut
	if clog {
		state = &p.clogged
	}
	if *state == on {
		return
	}
	was := p.blocked()
	*state = on
	if on {
		if !was {
			p.n.blocks++
			p.since = p.n.now()
			p.expire()
		}
		return
	}
	if p.blocked() {
		return
	}
	p.n.blocks--
	flows := p.stalled
	p.stalled = nil
	for _, f := range flows {
		f.resume()
	}
	p.feed()
}

// expire plans the end of the path's connections.
func (p *path) expire() {
	for _, h := range []*host{p.from, p.to} {
		other := p.from
		if h == p.from {
			other = p.to
		}
		if h.proc == nil {
			continue
		}
		for _, c := range h.proc.conns[other.index] {
			c.expire(c.endOf(h.proc))
		}
	}
}

// Admission is what a node shows and demands in the handshake. A network of
// package security is one.
type Admission interface {
	// Admit makes the proof that the peer id belongs to the network.
	Admit(p peer.ID) []byte
	// CheckAdmission checks such a proof.
	CheckAdmission(p peer.ID, proof []byte) error
}

// SetAdmission says what the node of that name shows and demands when it
// connects or is connected to: a connection stands only if each end accepts
// the other's proof. Nodes without one accept everybody and are accepted by
// everybody. It holds from the next dial on. A proof is checked once for each
// Admission and peer: nodes of one network should share one.
func (n *Network) SetAdmission(name string, a Admission) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).admission = a
}

// admits says whether both ends of a new connection accept each other.
func (n *Network) admits(a, b *host) bool { return n.accepts(a, b) && n.accepts(b, a) }

// proven names a proof that was checked.
type proven struct {
	by, of Admission
	id     peer.ID
}

// accepts says whether one end accepts the other's proof.
func (n *Network) accepts(one, other *host) bool {
	if one.admission == nil || other.admission == nil {
		return true
	}
	k := proven{by: one.admission, of: other.admission, id: other.id}
	ok, known := n.proofs[k]
	if !known {
		ok = one.admission.CheckAdmission(other.id, other.admission.Admit(other.id)) == nil
		n.proofs[k] = ok
	}
	return ok
}

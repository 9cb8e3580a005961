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

	"github.com/arke-mesh/arke/sim/link"
)

// faults is what is done to a network on purpose. Each is an event of its own.
type faults struct{ n *Network }

// Crash kills the node: its connections are reset and its peers see that one
// latency later. Its own code keeps running, cut off from everything and with
// no new work, until it is closed.
func (f faults) Crash(name string) {
	f.n.inject("crash "+name, func() { f.n.host(name).kill(stateClosed) })
}

// Silence takes the node away without a word, as a power loss does: its peers
// notice nothing until they miss it, at the latest after Config.DeadAfter.
func (f faults) Silence(name string) {
	f.n.inject("silence "+name, func() { f.n.host(name).kill(stateSilent) })
}

// Pause stops the node while time goes on, as a stopped virtual machine:
// nothing arrives, no timer fires, no handler starts. Handlers that run
// already and sleep by themselves are not held.
func (f faults) Pause(name string) {
	f.n.inject("pause "+name, func() { f.n.host(name).pause() })
}

// Resume lets a paused node go on with everything that it missed.
func (f faults) Resume(name string) {
	f.n.inject("resume "+name, func() { f.n.host(name).resume() })
}

// Move gives the node another address, as a new DHCP lease or another network does. Its
// own ends of connections break at once; its peers notice nothing until they miss it, or
// it connects again. Its name leads to the new address, the old one to nobody.
func (f faults) Move(name string) {
	f.n.inject("move "+name, func() {
		h := f.n.host(name)
		for addr, owner := range f.n.byAddr {
			if owner == h {
				delete(f.n.byAddr, addr)
			}
		}
		f.n.renewed++
		f.n.settle(h, f.n.newIP(name, f.n.newIndex(fmt.Sprint(name, " moved ", f.n.renewed))))
		if h.proc == nil || h.proc.state != stateUp {
			return
		}
		for _, c := range h.proc.all() {
			if c.local() {
				continue
			}
			end := c.endOf(h.proc)
			c.breakEnd(end, ErrConnLost, false)
			c.lose(1 - end)
		}
	})
}

// Corrupt flips a bit in the next delivery from one node to the other. TLS
// notices: the connection ends at the receiver, and then at the sender.
func (f faults) Corrupt(from, to string) {
	f.n.inject("corrupt "+from+" to "+to, func() { f.n.path(f.n.host(from), f.n.host(to)).corrupt++ })
}

// Calm ends every fault that lasts: it heals all paths, resumes paused nodes,
// sets clocks and routers right, and ends random losses. Links keep their
// latency and bandwidth; what is lost or down stays so.
func (f faults) Calm() {
	f.n.inject("calm", func() {
		f.n.heal()
		for _, h := range f.n.hosts {
			h.resume()
			h.skew.Store(h.skew.Load().next(f.n.now(), 0, 0))
			h.fault = ""
			for _, p := range h.paths {
				m := p.link.Model()
				m.Loss = 0
				p.link.SetModel(m)
				p.corrupt = 0
			}
		}
		f.n.calm = true
	})
}

// Skew changes the clock of a node, which is Clock of its Seam: Now and timers.
// From now on it is driftPPM millionths too fast, or too slow if that is
// negative; timers that are set already keep their time. The wall clock is
// ahead by offset, or behind, also while a node runs. As in a real process the
// monotonic reading of Now does not step with it: Sub measures what has passed,
// and Unix tells what the wall clock shows. Zeros end both.
func (f faults) Skew(name string, offset time.Duration, driftPPM int) {
	f.n.inject(fmt.Sprintf("skew %s %v %+d ppm", name, offset, driftPPM), func() {
		h := f.n.host(name)
		h.skew.Store(h.skew.Load().next(f.n.now(), offset, int64(driftPPM)))
	})
}

// Partition cuts every path between a node of a and one of b, in both
// directions: a black hole. What is on its way is lost, and sent again after
// Heal or Mend as TCP does it, at the next of its retransmissions: within a
// second, as package p2p asks of the kernel.
func (f faults) Partition(a, b []string) {
	f.n.inject("partition "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		f.n.block(a, b, false, true)
		f.n.block(b, a, false, true)
	})
}

// CutOneWay cuts every path from a node of from to one of to. The other way
// works for as long as a sender does without acknowledgements, which is about
// link.MinRTO; what is sent later waits for Mend as well. New connections need
// both ways.
func (f faults) CutOneWay(from, to []string) {
	f.n.inject("cut "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { f.n.block(from, to, false, true) })
}

// Mend ends the cut of every path from a node of from to one of to.
func (f faults) Mend(from, to []string) {
	f.n.inject("mend "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { f.n.block(from, to, false, false) })
}

// Clog holds everything that arrives on the paths from a node of from to one of
// to, until it is called again with on unset; then all of it arrives, in
// order. Nothing is lost and nothing breaks, except for connections on which
// that lasts for Config.DeadAfter. New ones are not made meanwhile.
func (f faults) Clog(from, to []string, on bool) {
	name := "clog "
	if !on {
		name = "unclog "
	}
	f.n.inject(name+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { f.n.block(from, to, true, on) })
}

// Heal mends every path: it ends all of Partition, CutOneWay and Clog.
func (f faults) Heal() { f.n.inject("heal", f.n.heal) }

// SetLatency changes the latency between two nodes in both directions, and
// nothing else of their link. What is on its way keeps the old one.
func (f faults) SetLatency(a, b string, l Latency) {
	f.n.inject("latency "+a+" "+b+" "+l.Base.String()+" "+l.Jitter.String(), func() {
		f.n.bothWays(a, b, func(p *path) {
			m := p.link.Model()
			m.Latency, m.Jitter = l.Base, l.Jitter
			p.link.SetModel(m)
		})
	})
}

// SetLink changes the link between two nodes in both directions. What is on
// its way, or in the bottleneck's queue, arrives as before.
func (f faults) SetLink(a, b string, m link.Model) {
	f.n.inject("link "+a+" "+b+" "+m.String(), func() {
		f.n.bothWays(a, b, func(p *path) { p.link.SetModel(m) })
	})
}

// RouterFault makes the router of a node, and of those that will run on the
// same host, misbehave: RouterSlow, RouterStale or RouterWrong; "" ends that.
// Stale and wrong are also its answers to the lookups of others. It panics if
// there is no such mode.
func (f faults) RouterFault(name, mode string) {
	switch mode {
	case "", RouterSlow, RouterStale, RouterWrong:
	default:
		panic("sim: no such router fault: " + mode)
	}
	f.n.inject("router "+name+" "+mode, func() { f.n.host(name).fault = mode })
}

// Break resets every connection between a node of a and one of b; those of a
// client are the ones through its local socket. Both ends may connect again at
// once.
func (f faults) Break(a, b []string) {
	f.n.inject("break "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		for _, from := range a {
			for _, to := range b {
				if p := f.n.host(from).proc; p != nil && from != to {
					p.breakAll(f.n.host(to))
				}
			}
		}
	})
}

// kill ends the process that runs on the host.
func (h *host) kill(s state) {
	if h.proc == nil || h.proc.state != stateUp {
		return
	}
	h.resume() // nothing must keep the lost code from being closed
	h.proc.shut(s)
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

// rule says for two sets of hosts which of the paths between them that do not
// exist yet are blocked: the last rule that fits decides.
type rule struct {
	from, to map[uint32]bool
	clog     bool // else it is about a cut
	on       bool
}

// fewPaths is how many paths are made rather than ruled.
const fewPaths = 64

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
	for _, ends := range [][2]*host{{p.from, p.to}, {p.to, p.from}} {
		proc, other := ends[0].proc, ends[1]
		if proc == nil {
			continue
		}
		for _, c := range proc.conns[other.index] {
			c.expire(c.endOf(proc))
		}
	}
}

// Admission is what a node shows and demands in the handshake. A network of
// package security is one.
type Admission interface {
	// Admit makes the proof that the peer id belongs to the network.
	Admit(p peer.ID) []byte
	// AdmittedBy checks such a proof, and says which version of the key has made it.
	AdmittedBy(p peer.ID, proof []byte) (version uint32, err error)
	// Versions returns the versions that are accepted, and the one that proves.
	Versions() (accepted []uint32, seals uint32, lapsed bool)
}

// proven names a proof that was checked.
type proven struct {
	by, of Admission
	id     peer.ID
}

// verdict is what came of checking a proof.
type verdict struct {
	version uint32 // of the key that has made it
	ok      bool
}

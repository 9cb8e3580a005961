// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/scenario"
)

// maxHeld is how many packets a clogged wire keeps; it drops further ones.
const maxHeld = 256

// fate is what becomes of a packet.
type fate uint8

const (
	passed  fate = iota
	lost         // by the link's model: its loss, or its queue is full
	cut          // the wire is cut
	silent       // one of the two nodes lost its power
	held         // the wire is clogged; it goes on later
	clogged      // the wire is clogged and keeps no more
	crowded      // too many packets are under way
	unknown      // nobody has that address, or has it no more
	fates        // how many there are
)

func (f fate) String() string {
	return [fates]string{"passed", "lost", "cut", "silent", "held", "clogged", "crowded", "unknown"}[f]
}

// way is a direction between two nodes, by their names.
type way struct{ from, to string }

// wires knows how things go from node to node: the model of each direction,
// and what is wrong with it at the moment. It may be used concurrently.
type wires struct {
	// Immutable.
	seed uint64
	now  func() time.Duration

	// Guarded by mu.
	mu   sync.Mutex
	of   func(from, to string) link.Model
	ways map[way]*wire
	off  map[string]bool // nodes without power
}

// wire is the state of one direction.
type wire struct {
	direction    *link.Direction
	degraded     bool
	cut, clogged bool
	spoil        bool     // the next segment that carries something
	held         [][]byte // packets that wait until it is no longer clogged
}

func newWires(seed uint64, now func() time.Duration) *wires {
	return &wires{
		seed: seed, now: now,
		of:   func(string, string) link.Model { return link.Model{} },
		ways: make(map[way]*wire), off: make(map[string]bool),
	}
}

func modelOf(l scenario.Link) link.Model {
	return link.Model{
		Latency: l.Latency.D(), Jitter: l.Jitter.D(), Loss: uint32(l.Loss), Mbps: l.Mbps, Queue: int(l.Queue),
	}
}

// at returns the wire. The caller holds mu.
func (w *wires) at(from, to string) *wire {
	x := w.ways[way{from, to}]
	if x == nil {
		x = &wire{direction: link.NewDirection(w.of(from, to), w.seed, from, to)}
		w.ways[way{from, to}] = x
	}
	return x
}

// packet sends one packet and says when it arrives if it passed. It may spoil
// the packet, and it owns one that is held.
func (w *wires) packet(from, to string, p []byte) (time.Duration, fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off[from] || w.off[to] {
		return 0, silent
	}
	x := w.at(from, to)
	switch {
	case x.cut:
		return 0, cut
	case x.clogged && len(x.held) == maxHeld:
		return 0, clogged
	case x.clogged:
		x.held = append(x.held, p)
		return 0, held
	}
	return w.pass(x, p)
}

// pass puts a packet onto a wire that works. The caller holds mu.
func (w *wires) pass(x *wire, p []byte) (time.Duration, fate) {
	arrive, ok := x.direction.Packet(w.now(), len(p))
	if !ok {
		return 0, lost
	}
	if x.spoil && spoil(p) {
		x.spoil = false
	}
	return arrive, passed
}

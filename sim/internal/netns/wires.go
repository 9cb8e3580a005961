// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// maxHeld is how many packets a clogged wire keeps; it drops further ones.
const maxHeld = 256

// outcome is what becomes of a packet.
type outcome uint8

const (
	passed   outcome = iota
	lost             // by the link's model: its loss, or its queue is full
	cut              // the wire is cut
	silent           // one of the two nodes lost its power
	held             // the wire is clogged; it goes on later
	clogged          // the wire is clogged and keeps no more
	crowded          // too many packets are under way
	unknown          // nobody has that address, or has it no more
	outcomes         // how many there are
)

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
func (w *wires) packet(from, to string, p []byte) (time.Duration, outcome) {
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
func (w *wires) pass(x *wire, p []byte) (time.Duration, outcome) {
	arrive, ok := x.direction.Packet(w.now(), len(p))
	if !ok {
		return 0, lost
	}
	if x.spoil && spoil(p) {
		x.spoil = false
	}
	return arrive, passed
}

// parcel is a packet that was held and goes on now.
type parcel struct {
	arrive time.Duration
	to     string
	packet []byte
}

// setLinks changes the model of every wire that nothing degrades.
func (w *wires) setLinks(of func(from, to string) link.Model) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of = of
	w.restore(false)
}

// cutOff cuts the wires from the ones to the others, or mends them.
func (w *wires) cutOff(from, to []string, on bool) {
	w.each(from, to, func(_ way, x *wire) { x.cut = on })
}

// clog stops the wires from the ones to the others without a loss.
func (w *wires) clog(from, to []string) {
	w.each(from, to, func(_ way, x *wire) { x.clogged = true })
}

// unclog undoes clog and returns what goes on.
func (w *wires) unclog(from, to []string) []parcel {
	var all []parcel
	w.each(from, to, func(d way, x *wire) { all = append(all, w.release(d, x)...) })
	return all
}

// release unclogs one wire. The caller holds mu.
func (w *wires) release(d way, x *wire) []parcel {
	var all []parcel
	for _, p := range x.held {
		if w.off[d.from] || w.off[d.to] || x.cut {
			break
		}
		if arrive, f := w.pass(x, p); f == passed {
			all = append(all, parcel{arrive, d.to, p})
		}
	}
	x.clogged, x.held = false, nil
	return all
}

// corrupt spoils the next segment from one node to another.
func (w *wires) corrupt(from, to string) {
	w.each([]string{from}, []string{to}, func(_ way, x *wire) { x.spoil = true })
}

// degrade gives the wires between the ones and the others another model, in
// both directions, until heal.
func (w *wires) degrade(a, b []string, m link.Model) {
	set := func(_ way, x *wire) { x.degraded = true; x.direction.SetModel(m) }
	w.each(a, b, set)
	w.each(b, a, set)
}

// power turns a node on or off.
func (w *wires) power(name string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off[name] = !on
}

// heal ends every fault of every wire and returns what goes on; with calm
// nothing is lost at random any more, either.
func (w *wires) heal(calm bool) []parcel {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []parcel
	for d, x := range w.ways { // the order matters to nobody: they are different wires
		x.cut, x.spoil, x.degraded = false, false, false
		all = append(all, w.release(d, x)...)
	}
	if of := w.of; calm {
		w.of = func(from, to string) link.Model {
			m := of(from, to)
			m.Loss = 0
			return m
		}
	}
	w.restore(true)
	return all
}

// restore gives wires the models that they have without a fault. The caller
// holds mu.
func (w *wires) restore(all bool) {
	for d, x := range w.ways {
		if all || !x.degraded {
			x.direction.SetModel(w.of(d.from, d.to))
		}
	}
}

// each does something to every wire from the ones to the others.
func (w *wires) each(from, to []string, f func(way, *wire)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range from {
		for _, b := range to {
			if a != b {
				f(way{a, b}, w.at(a, b))
			}
		}
	}
}

// Sizes and places of what is read of an IPv4 packet and a TCP segment.
const (
	ipHeader    = 20
	tcpHeader   = 20
	protocolTCP = 6
)

// address is an IPv4 address.
type address [4]byte

func (a address) String() string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }

// destination tells where an IPv4 packet goes; false if it is none.
func destination(p []byte) (address, bool) {
	if len(p) < ipHeader || p[0]>>4 != 4 {
		return address{}, false
	}
	return address(p[16:20]), true
}

// spoil flips a bit of the last byte that a TCP segment carries and makes the
// checksum right again, so that the kernel lets it pass and whoever reads the
// stream meets it. It returns false, and changes nothing, if the packet is
// not a whole TCP segment that carries something.
func spoil(p []byte) bool {
	segment, ok := tcpSegment(p)
	if !ok {
		return false
	}
	data := int(segment[12]>>4) * 4
	if data < tcpHeader || data >= len(segment) {
		return false
	}
	segment[len(segment)-1] ^= 1
	binary.BigEndian.PutUint16(segment[16:], 0)
	binary.BigEndian.PutUint16(segment[16:], tcpChecksum(p, segment))
	return true
}

// tcpSegment returns the part of an IPv4 packet that TCP sees; false for
// other packets, for fragments and for what contradicts itself.
func tcpSegment(p []byte) ([]byte, bool) {
	if len(p) < ipHeader || p[0]>>4 != 4 || p[9] != protocolTCP {
		return nil, false
	}
	if fragment := binary.BigEndian.Uint16(p[6:]); fragment&0x3fff != 0 {
		return nil, false
	}
	header, total := int(p[0]&15)*4, int(binary.BigEndian.Uint16(p[2:]))
	if header < ipHeader || total > len(p) || total < header+tcpHeader {
		return nil, false
	}
	return p[header:total], true
}

// tcpChecksum is the Internet checksum over the segment and what it covers of
// the packet's header. The checksum within the segment counts like the rest.
func tcpChecksum(p, segment []byte) uint16 {
	sum := uint32(protocolTCP) + uint32(len(segment))
	add := func(b []byte) {
		for ; len(b) >= 2; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	add(p[12:20]) // both addresses
	add(segment)
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

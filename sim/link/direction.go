// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// Direction is the state of one direction of a link. It is not safe for
// concurrent use. Times are since any fixed instant, and callers give them in
// an order that does not decrease.
type Direction struct {
	model Model
	rng   rand.PCG      // integers only
	free  time.Duration // when the bottleneck has sent everything
	last  time.Duration // the latest arrival of a packet

	changes int // of the model
}

// NewDirection returns an idle direction. Its random numbers depend on the
// seed and on the two names, and on nothing else.
func NewDirection(m Model, seed uint64, from, to string) *Direction {
	return &Direction{model: m.normal(), rng: newRandom(seed, from, to)}
}

// Model returns what describes the direction, defaults filled in.
func (d *Direction) Model() Model { return d.model }

// SetModel changes what is sent from now on. What is on its way arrives as
// before, and what waits at the bottleneck still waits so long.
func (d *Direction) SetModel(m Model) {
	d.model = m.normal()
	d.changes++
}

// Packet sends one datagram. It returns when it arrives, never before an
// earlier one; !ok means that it was lost or found the queue full.
func (d *Direction) Packet(now time.Duration, size int) (arrive time.Duration, ok bool) {
	if d.Backlog(now) > 0 && d.waiting(now)+size > d.model.Queue {
		return 0, false
	}
	out := d.pass(now, size)
	d.last = max(d.last, out+d.delay())
	return d.last, !d.lose()
}

// Flight returns how long a message of one packet takes, retransmissions
// included, that waits for nothing and delays nothing: one of a handshake.
func (d *Direction) Flight() (takes time.Duration, broken bool) {
	free := d.free
	takes = d.delay()
	p, broken := d.recover(nil, 0)
	d.free = free
	return takes + p.late, broken
}

// Backlog is how long what was sent before still keeps the bottleneck busy.
func (d *Direction) Backlog(now time.Duration) time.Duration { return max(0, d.free-now) }

// waiting is the same in bytes.
func (d *Direction) waiting(now time.Duration) int {
	return int(int64(d.Backlog(now)) * d.model.Rate() / 8_000_000)
}

// Room reports whether so many bytes fit into the queue now, or the queue is
// empty: a sender that waits for room loses nothing to the queue's bound.
func (d *Direction) Room(now time.Duration, size int) bool {
	return d.RoomAt(now, size) <= now
}

// RoomAt is when so many bytes will fit into the queue if nothing else is sent.
func (d *Direction) RoomAt(now time.Duration, size int) time.Duration {
	if d.Backlog(now) == 0 {
		return now
	}
	return max(now, d.free-d.model.Transmit(max(0, d.model.Queue-size)))
}

// pass takes size bytes through the bottleneck and returns when they are
// through.
func (d *Direction) pass(now time.Duration, size int) time.Duration {
	d.free = max(d.free, now) + d.model.Transmit(size)
	return d.free
}

// delay draws the latency of one flight.
func (d *Direction) delay() time.Duration {
	l := d.model.Latency
	if j := d.model.Jitter; j > 0 {
		l += time.Duration(Below(&d.rng, uint64(j)+1))
	}
	return l
}

// lose decides whether one packet is lost.
func (d *Direction) lose() bool {
	return d.model.Loss > 0 && Below(&d.rng, AllLost) < uint64(d.model.Loss)
}

// newRandom derives a source of random numbers from a seed and names. Different names give
// independent ones.
func newRandom(seed uint64, names ...string) (r rand.PCG) {
	const basis, prime = 0xcbf29ce484222325, 0x100000001b3 // FNV-1a
	hash := uint64(basis)
	byteIn := func(b byte) { hash = (hash ^ uint64(b)) * prime }
	for _, name := range names {
		for i := range len(name) {
			byteIn(name[i])
		}
		byteIn(0)
	}
	r.Seed(seed, hash)
	return r
}

// Below returns a number in [0, n) without bias; n must be positive. It is the same
// with every version of Go, which the standard library does not promise.
func Below(r *rand.PCG, n uint64) uint64 {
	hi, lo := bits.Mul64(r.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(r.Uint64(), n)
		}
	}
	return hi
}

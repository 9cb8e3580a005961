// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/pace"
)

// refusal says why a message may not cross.
type refusal uint8

const (
	refusedMessages refusal = iota // more than Limits.Messages in a second
	refusedBytes                   // more than Limits.Bytes in a second
	refusedInFlight                // Limits.InFlight are under way
	refusedTunnels                 // Limits.Tunnels are open
	refusedRound                   // it has come through the network before, or too many
	refusedMembers                 // a member of a sealed cluster beyond maxPassed
	refusedCut                     // the network that it is for can't be reached
	refusedNetworks                // a network beyond maxLoans, or beyond its lender's share
	refusals
	passed = refusals
)

// String returns the name that the status shows.
func (r refusal) String() string {
	return [...]string{"messages_limit", "bytes_limit", "in_flight_limit", "tunnels_limit", "round", "members_limit", "unreachable", "networks_limit", "passed"}[r]
}

// border counts and bounds what crosses by one crossing. It has no clock.
type border struct {
	refused drop.Counts[refusal]

	messages, bytes atomic.Uint64 // that have crossed, in both directions

	mu       sync.Mutex // guards what follows; held for a few instructions
	began    time.Time  // what the gauges count from
	limits   Limits
	rate     gauge // of messages
	volume   gauge // of bytes
	inFlight int
	opening  int // tunnels that were let in and are not counted among the open ones yet
}

func newBorder() *border { return &border{refused: drop.New(refusals)} }

// limit replaces the limits.
func (b *border) limit(l Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limits = l
	b.rate.limit, b.volume.limit = perSecond(l.Messages), perSecond(l.Bytes)
}

// enter lets a message of so many bytes cross; leave is due then. The opening of a tunnel
// says how many are open, and opened is due, too; with anything else open is nil.
func (b *border) enter(now time.Time, size int, open func() int) refusal {
	why := b.admit(now, size, open)
	if why != passed {
		b.refused.Inc(why)
		return why
	}
	b.messages.Add(1)
	b.bytes.Add(uint64(size))
	return passed
}

func (b *border) admit(now time.Time, size int, open func() int) refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.at(now)
	switch {
	case open != nil && open()+b.opening >= b.limits.Tunnels:
		return refusedTunnels
	case b.inFlight >= b.limits.InFlight:
		return refusedInFlight
	case !b.volume.Open(b.volume.limit, at):
		return refusedBytes
	case !b.rate.Open(b.rate.limit, at):
		return refusedMessages
	}
	b.rate.Take(b.rate.limit, at, 1)
	b.volume.Take(b.volume.limit, at, int64(size))
	b.inFlight++
	if open != nil {
		b.opening++
	}
	return passed
}

// busy says that a message has no answer yet.
func (b *border) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight > 0
}

// opened notes that a tunnel which was let in is among the open ones, or will not be.
func (b *border) opened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opening--
}

// leave notes that a message has its answer, of so many bytes.
func (b *border) leave(now time.Time, size int) {
	b.bytes.Add(uint64(size))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	b.volume.Take(b.volume.limit, b.at(now), int64(size))
}

// at is what the gauges take for now: a wall clock that is set back does not matter. mu is
// held.
func (b *border) at(now time.Time) int64 {
	if b.began.IsZero() {
		b.began = now
	}
	return int64(now.Sub(b.began))
}

// gauge is a meter and its limit.
type gauge struct {
	pace.Meter
	limit pace.Limit
}

// perSecond lets so many units pass each second, and as many at once after a quiet one;
// 0 = any number.
func perSecond[N int | int64](n N) pace.Limit {
	return pace.Limit{Units: int64(n), Per: time.Second, Burst: time.Second}
}

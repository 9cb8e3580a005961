// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"net"
	"net/netip"
)

// How much of an address says whose it is, in bits: who has one address of a
// network has the others.
const (
	sourceBits4 = 24
	sourceBits6 = 48
)

// sourceOf is where a connection comes from, for fairness.
func sourceOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := sourceBits6
	if addr.Is4() {
		bits = sourceBits4
	}
	prefix, _ := addr.Prefix(bits)
	return prefix
}

// crowd is a set of connections that knows which source has most of them. All it
// does takes the same short time however many there are.
type crowd struct {
	sources map[netip.Prefix]*party
	seats   map[uint64]seat
	ranks   [][]*party // by how many members they have
	top     int        // the highest rank that is not empty
}

// party is those of one source.
type party struct {
	source  netip.Prefix
	members []uint64
	at      int // in its rank
}

// seat is where a member is.
type seat struct {
	party *party
	at    int
}

func newCrowd() *crowd {
	return &crowd{sources: make(map[netip.Prefix]*party), seats: make(map[uint64]seat), ranks: make([][]*party, 1)}
}

func (c *crowd) len() int { return len(c.seats) }

func (c *crowd) add(id uint64, source netip.Prefix) {
	p := c.sources[source]
	if p == nil {
		p = &party{source: source}
		c.sources[source] = p
	} else {
		c.unrank(p)
	}
	c.seats[id] = seat{p, len(p.members)}
	p.members = append(p.members, id)
	c.rank(p)
}

func (c *crowd) remove(id uint64) {
	at, ok := c.seats[id]
	if !ok {
		return
	}
	delete(c.seats, id)
	p := at.party
	c.unrank(p)
	last := len(p.members) - 1
	if moved := p.members[last]; moved != id {
		p.members[at.at] = moved
		c.seats[moved] = at
	}
	p.members = p.members[:last]
	if last == 0 {
		delete(c.sources, p.source)
	} else {
		c.rank(p)
	}
	for c.top > 0 && len(c.ranks[c.top]) == 0 {
		c.top--
	}
}

// victim is one at random of a source that has most; random(n) is below n. The
// crowd must not be empty.
func (c *crowd) victim(random func(n int) int) uint64 {
	most := c.ranks[c.top]
	p := most[random(len(most))]
	return p.members[random(len(p.members))]
}

func (c *crowd) rank(p *party) {
	n := len(p.members)
	for len(c.ranks) <= n {
		c.ranks = append(c.ranks, nil)
	}
	p.at = len(c.ranks[n])
	c.ranks[n] = append(c.ranks[n], p)
	c.top = max(c.top, n)
}

func (c *crowd) unrank(p *party) {
	n := len(p.members)
	rank := c.ranks[n]
	last := len(rank) - 1
	rank[p.at] = rank[last]
	rank[p.at].at = p.at
	rank[last] = nil
	c.ranks[n] = rank[:last]
}

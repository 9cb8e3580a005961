// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package crowd

// Crowd is a set of connections, each of a source. All it does takes the same
// short time however many there are. Not for concurrent use.
type Crowd[S comparable] struct {
	sources map[S]*party[S]
	seats   map[uint64]seat[S]
	ranks   [][]*party[S] // by how many members they have
	top     int           // the highest rank that is not empty
}

// party is those of one source.
type party[S comparable] struct {
	source  S
	members []uint64
	at      int // in its rank
}

// seat is where a member is.
type seat[S comparable] struct {
	party *party[S]
	at    int
}

// New returns an empty crowd.
func New[S comparable]() *Crowd[S] {
	return &Crowd[S]{sources: make(map[S]*party[S]), seats: make(map[uint64]seat[S]), ranks: make([][]*party[S], 1)}
}

// Len is how many there are.
func (c *Crowd[S]) Len() int { return len(c.seats) }

// Most is how many a source has that has most.
func (c *Crowd[S]) Most() int { return c.top }

// Of is how many a source has.
func (c *Crowd[S]) Of(source S) int {
	if p := c.sources[source]; p != nil {
		return len(p.members)
	}
	return 0
}

// Add takes in a connection that is not in the crowd.
func (c *Crowd[S]) Add(id uint64, source S) {
	p := c.sources[source]
	if p == nil {
		p = &party[S]{source: source}
		c.sources[source] = p
	} else {
		c.unrank(p)
	}
	c.seats[id] = seat[S]{p, len(p.members)}
	p.members = append(p.members, id)
	c.rank(p)
}

// Remove takes out a connection; one that is not there is no error.
func (c *Crowd[S]) Remove(id uint64) {
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

// Victim is one at random of a source that has most; random(n) is below n. The
// crowd must not be empty.
func (c *Crowd[S]) Victim(random func(n int) int) uint64 {
	most := c.ranks[c.top]
	p := most[random(len(most))]
	return p.members[random(len(p.members))]
}

func (c *Crowd[S]) rank(p *party[S]) {
	n := len(p.members)
	for len(c.ranks) <= n {
		c.ranks = append(c.ranks, nil)
	}
	p.at = len(c.ranks[n])
	c.ranks[n] = append(c.ranks[n], p)
	c.top = max(c.top, n)
}

func (c *Crowd[S]) unrank(p *party[S]) {
	n := len(p.members)
	rank := c.ranks[n]
	last := len(rank) - 1
	rank[p.at] = rank[last]
	rank[p.at].at = p.at
	rank[last] = nil
	c.ranks[n] = rank[:last]
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math"
	"slices"
)

// conn is one connection between two processes: end 0 dialled, end 1
// accepted. What one end sends arrives at the other in order, over all
// streams, as on one TCP connection. Guarded by Network.mu.
type conn struct {
	n       *Network
	ends    [2]*process
	number  uint64       // among the connections dialled this way
	open    [2]bool      // this end believes that it stands
	flows   [2]flow      // what this end sent
	streams [2][]*stream // alive at this end, by age
	opened  [2]uint64    // streams this end has opened
	ended   [2]bool      // this end's close waits for its commit, or was sent
	bounced bool         // an end that is gone has answered with a reset
}

func newConn(dialer, acceptor *process, number uint64) *conn {
	c := &conn{n: dialer.n, ends: [2]*process{dialer, acceptor}, number: number}
	for end := range c.flows {
		c.flows[end] = flow{c: c, end: end, lost: -1, unheard: -1}
	}
	return c
}

// key makes the key of an event about stream s of c, or about c itself, at
// one end.
func (c *conn) key(k kind, end int, stream uint64) key {
	n := c.number<<32 | stream&0x7fffffff
	if end == 0 {
		n |= 1 << 31
	}
	return c.ends[end].key(k, c.ends[1-end].host.index, n)
}

// path returns the direction in which end sends.
func (c *conn) path(end int) *path {
	return c.n.path(c.ends[end].host, c.ends[1-end].host)
}

// breakEnd ends the connection at one end: its streams fail with err, and the
// last connection to a peer ends in PeerDown. The other end learns of it after
// everything that was sent before, if tell is set.
func (c *conn) breakEnd(end int, err error, tell bool) {
	if !c.open[end] {
		return
	}
	c.open[end] = false
	for _, s := range slices.Clone(c.streams[end]) {
		s.fail(err)
	}
	c.ends[end].detach(c, end)
	if tell {
		c.end(end)
	}
}

// end tells the other end that this one is gone.
func (c *conn) end(end int) {
	if !c.ended[end] {
		c.ended[end] = true
		c.n.send(&ending{c: c, end: end})
	}
}

// ending is the commit of a connection's end; it comes after those of the
// connection's streams.
type ending struct {
	c   *conn
	end int
}

func (e *ending) order() key { return e.c.key(kindConnDown, 1-e.end, math.MaxUint64) }

func (e *ending) commit() {
	if p := e.c.path(e.end); p.carries(e.c, e.end) {
		p.parcels = append(p.parcels, &parcel{ending: e.c, sender: e.end})
		return
	}
	e.c.sendEnd(e.end)
}

// sendEnd has the other end learn that this one is gone.
func (c *conn) sendEnd(end int) {
	to := 1 - end
	c.flows[end].send(c.key(kindConnDown, to, 0), 0, 0, func() {
		if c.ends[to].state == stateUp {
			c.breakEnd(to, ErrConnLost, false)
		}
	})
}

// bounce answers something that arrived at an end which is gone with a reset,
// as a host does: the sender need not wait until the news of the end itself,
// which may have been lost, is sent again.
func (c *conn) bounce(sender int) {
	to := 1 - sender
	if c.open[to] || !c.ended[to] || !c.open[sender] || c.bounced || c.ends[to].state == stateSilent || c.path(to).blocked() {
		return
	}
	takes, ok := c.path(to).flight()
	if !ok {
		return // the next one may get through
	}
	c.bounced = true
	c.n.after(takes, c.key(kindConnDown, sender, 1), func() {
		c.n.mu.Lock()
		defer c.n.mu.Unlock()
		if c.ends[sender].state == stateUp {
			c.breakEnd(sender, ErrConnLost, false)
		}
	})
}

// expire breaks the connection at one end when the keepalive runs out, unless
// by then both directions work again.
func (c *conn) expire(end int) {
	armed := c.n.now()
	c.n.after(c.n.cfg.DeadAfter, c.key(kindExpire, end, 0), func() {
		c.n.mu.Lock()
		defer c.n.mu.Unlock()
		lasts := func(p *path) bool { return p.blocked() && p.since <= armed }
		if lasts(c.path(end)) || lasts(c.path(1-end)) || c.ends[1-end].state == stateSilent {
			c.breakEnd(end, ErrConnLost, true)
		}
	})
}

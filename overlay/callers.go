// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/crowd"
)

// callers are the incoming streams on which no Hello has come. Peers whose certificate the
// connection has shown share places of their own: when these are full, a stream of a
// peer that has most of them yields. All methods may be called concurrently.
type callers struct {
	random func(n int) int

	// Guarded by mu.
	mu        sync.Mutex
	lastID    uint64
	certified map[uint64]Stream
	holders   *crowd.Crowd[peer.ID] // of certified
	others    int                   // streams of peers without a certificate
}

func newCallers(random func(n int) int) *callers {
	return &callers{random: random, certified: make(map[uint64]Stream), holders: crowd.New[peer.ID]()}
}

// enter gives s a place until leave is called, which may be more than once. It returns a
// nil leave if there is none, and the stream that has lost its place for s, if one has.
func (c *callers) enter(s Stream) (leave func(), yields Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.Certified() {
		if c.others >= maxUncertifiedHandshakes {
			return nil, nil
		}
		c.others++
		return sync.OnceFunc(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.others--
		}), nil
	}
	c.lastID++
	id := c.lastID
	if len(c.certified) >= maxHandshakes {
		victim := c.holders.Victim(c.random)
		yields = c.certified[victim]
		c.remove(victim)
	}
	c.certified[id] = s
	c.holders.Add(id, s.Remote())
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(id)
	}, yields
}

// remove needs mu.
func (c *callers) remove(id uint64) {
	delete(c.certified, id)
	c.holders.Remove(id)
}

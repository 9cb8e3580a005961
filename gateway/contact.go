// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
)

// Times of a contact.
const (
	contactEvery = 200 * time.Millisecond // between looks
	// freshTime is for how long a byte shows that a node lives whose heartbeats nobody
	// asks for, and how long heartbeats need to show that it does not.
	freshTime = 2 * time.Second
	// cutPatience is how long nobody shows a sign of life until a network counts as cut
	// off: time for heartbeats of those whose links were idle. With the 1.2 s after which
	// a node is suspect callers hear within 2 s that nobody can be reached.
	cutPatience = 400 * time.Millisecond
	// returnTime is how long a network must be heard again until what its anchors say of
	// empty clusters is believed: members register again first.
	returnTime = 5 * time.Second
	// maxProbes bounds the nodes that are asked for heartbeats when nobody is heard.
	maxProbes = 32
)

// contact decides whether a gateway hears one of its networks: nodes of that network that
// are no gateways', of which there may be more on this side of a line. While it hears none,
// and some did not say goodbye, nobody here can know which clusters have members. It has no
// clock.
type contact struct {
	held    map[peer.ID]time.Time // those that are asked for heartbeats, since when
	missing map[peer.ID]bool      // those that leave heartbeats unanswered
	alone   time.Time             // since when nobody is heard; zero = somebody is
	back    time.Time             // since when somebody is, without a break; zero = nobody is
	broken  bool                  // it was cut off, and is not back for returnTime
	cut     bool                  // it is cut off
}

// sign is what is known of one node.
type sign struct {
	peer    peer.ID
	heard   time.Time // the last byte
	suspect bool
}

// alive says whether the node shows that it lives.
func (c *contact) alive(now time.Time, n sign) bool {
	since, held := c.held[n.peer]
	return !n.suspect && (now.Sub(n.heard) < freshTime || held && now.Sub(since) >= freshTime)
}

// step takes in the nodes that there is a link with, and decides who is asked for
// heartbeats: one while somebody is heard, and everybody if not.
func (c *contact) step(now time.Time, all []sign) {
	var alive, hold []peer.ID
	linked := make(map[peer.ID]bool, len(all))
	for _, n := range all {
		linked[n.peer] = true
		if c.alive(now, n) {
			alive = append(alive, n.peer)
			delete(c.missing, n.peer)
		} else if n.suspect && len(c.missing) < maxProbes {
			c.miss(n.peer)
		}
	}
	if len(alive) > 0 {
		c.hears(now, linked)
		hold = []peer.ID{c.preferred(alive)}
	} else {
		c.hearsNobody(now)
		for _, n := range all[:min(len(all), maxProbes)] {
			hold = append(hold, n.peer)
		}
	}
	c.holds(now, hold)
}

func (c *contact) miss(p peer.ID) {
	if c.missing == nil {
		c.missing = make(map[peer.ID]bool)
	}
	c.missing[p] = true
}

// hears takes in that somebody lives. Who has ended long before is not missing then: that
// one is dead, or left.
func (c *contact) hears(now time.Time, linked map[peer.ID]bool) {
	if c.back.IsZero() {
		c.back = now
	}
	c.alone, c.cut = time.Time{}, false
	if now.Sub(c.back) >= returnTime {
		c.broken = false
		for p := range c.missing {
			if !linked[p] {
				delete(c.missing, p)
			}
		}
	}
}

// hearsNobody takes in that nobody shows that he lives. If all have said goodbye nobody is
// missing.
func (c *contact) hearsNobody(now time.Time) {
	c.back = time.Time{}
	if len(c.missing) == 0 {
		return
	}
	if c.alone.IsZero() {
		c.alone = now
	}
	c.broken = true
	c.cut = now.Sub(c.alone) >= cutPatience
}

// preferred is one of those that live, if possible one that is held.
func (c *contact) preferred(alive []peer.ID) peer.ID {
	for _, p := range alive {
		if _, held := c.held[p]; held {
			return p
		}
	}
	return alive[0]
}

// holds takes in who is asked for heartbeats from now on.
func (c *contact) holds(now time.Time, hold []peer.ID) {
	next := make(map[peer.ID]time.Time, len(hold))
	for _, p := range hold {
		since, held := c.held[p]
		if !held {
			since = now
		}
		next[p] = since
	}
	c.held = next
}

// reach is whether the gateway hears one of its networks now.
type reach struct {
	// Immutable.
	network string
	node    *node.Node

	cut    atomic.Bool // nobody there is heard: what is for its members is refused at once
	broken atomic.Bool // likewise, or that was a moment ago: "no member" can't be believed
}

// run keeps it up to date while the gateway runs.
func (r *reach) run(g *Gateway) {
	var core contact
	held := make(map[peer.ID]func())
	for overlay.Sleep(g.ctx, g.clock, "gateway.contact", contactEvery) {
		natives := r.node.Natives()
		signs := make([]sign, len(natives))
		for i, n := range natives {
			signs[i] = sign{n.Peer, n.Heard, n.Suspect}
		}
		core.step(g.clock.Now(), signs)
		for _, n := range natives {
			if _, wanted := core.held[n.Peer]; wanted && held[n.Peer] == nil {
				held[n.Peer] = n.Hold()
			}
		}
		for _, p := range slices.Sorted(maps.Keys(held)) {
			if _, wanted := core.held[p]; !wanted {
				held[p]()
				delete(held, p)
			}
		}
		r.note(g.log, &core)
	}
	for _, p := range slices.Sorted(maps.Keys(held)) {
		held[p]()
	}
}

// note shows others what was decided.
func (r *reach) note(log *zap.Logger, c *contact) {
	r.broken.Store(c.broken)
	if r.cut.Swap(c.cut) == c.cut {
		return
	}
	if c.cut {
		log.Warn("network can't be reached: what it lends is offered as suspect, and refused", zap.String("network", r.network))
	} else {
		log.Info("network is reached again", zap.String("network", r.network))
	}
}

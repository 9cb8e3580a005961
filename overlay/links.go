// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// When the table of links has grown to twice what it was after the last look,
// those that nobody needs are forgotten.
const (
	minLinks    = 1024
	forgetAfter = 10 * time.Minute
)

// maxLinks is how many links there may be for peers that call; the upper
// layers may always have more.
const maxLinks = 1 << 16

// LinkStatus describes a link to people.
type LinkStatus struct {
	Peer    string         `json:"peer"`
	Addr    string         `json:"addr,omitempty"`
	State   string         `json:"state"` // up, suspect, opening
	Session uint64         `json:"session,omitempty"`
	Version uint32         `json:"version,omitempty"`
	Agent   string         `json:"agent,omitempty"`
	Name    string         `json:"name,omitempty"`         // what people call the peer: any text, to be escaped
	Gateway bool           `json:"gateway,omitempty"`      // the peer says that it is a gateway's node
	RTT     time.Duration  `json:"rtt_ns,omitempty"`       // 0 = not measured yet
	Queued  map[string]int `json:"queued_bytes,omitempty"` // by lane, empty lanes left out
	Kept    map[string]int `json:"kept_bytes,omitempty"`   // sent and not acknowledged, likewise

	// ClockAhead is how far the peer's wall clock is ahead of this node's, negative =
	// behind; nil = it has not said.
	ClockAhead *time.Duration `json:"clock_ahead_ns,omitempty"`

	// Bytes of frames since the link was first needed, over all its sessions.
	Sent     ByLane `json:"sent_bytes"`
	Received uint64 `json:"received_bytes"`
}

// linkTable has the links of an overlay. Methods may be called concurrently.
type linkTable struct {
	o *Overlay

	// Guarded by mu.
	mu     sync.RWMutex
	all    map[peer.ID]*Link
	lookAt int // size at which to look for those to forget
}

// known returns the link to p, or nil.
func (t *linkTable) known(p peer.ID) *Link {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.all[p]
}

// get returns the link to p, and makes one if need be.
func (t *linkTable) get(p peer.ID) *Link {
	if l := t.known(p); l != nil {
		return l
	}
	fresh := newLink(t.o, p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.all[p]; l != nil {
		return l
	}
	if len(t.all) >= t.lookAt {
		t.forget()
		t.lookAt = max(minLinks, 2*len(t.all))
	}
	t.all[p] = fresh
	return fresh
}

// ofCaller is get for a peer that calls; nil if there are too many.
func (t *linkTable) ofCaller(p peer.ID) *Link {
	t.mu.RLock()
	full := len(t.all) >= maxLinks && t.all[p] == nil
	t.mu.RUnlock()
	if full {
		return nil
	}
	return t.get(p)
}

// forgetCaller removes the link of a peer that called and was not let in, unless somebody
// needs it.
func (t *linkTable) forgetCaller(l *Link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[l.peer] == l && l.forget() {
		delete(t.all, l.peer)
	}
}

// forget removes the links that nobody needs, so that a node that lives long in a
// network with much change does not grow. mu is held.
func (t *linkTable) forget() {
	now := t.o.clock.Now()
	for p, l := range t.all {
		if l.downFor(now) >= forgetAfter && l.forget() {
			delete(t.all, p)
		}
	}
}

// sorted lists the links, by peer id.
func (t *linkTable) sorted() []*Link {
	t.mu.RLock()
	links := slices.Collect(maps.Values(t.all))
	t.mu.RUnlock()
	slices.SortFunc(links, func(a, b *Link) int { return strings.Compare(string(a.peer), string(b.peer)) })
	return links
}

// tellClocks asks all peers what their wall clocks show, and tells them ours.
func (t *linkTable) tellClocks() {
	for _, l := range t.sorted() {
		if s := l.last.Load(); s != nil && l.up() {
			s.TellWall()
		}
	}
}

// maxTrip is how long a round trip may be for others to be waited for because of it: one
// peer that answers late must not slow down everything.
const maxTrip = 1600 * time.Millisecond

// LongestTrip is the longest of the round trips to peers that o is linked with, 0 if there
// are none, and 1.6 s at most. all is false while one of them was not measured yet, who was
// called knows it one trip later, and while a node that knows nobody is dialling. It looks at
// each link. May be called concurrently.
func LongestTrip(o *Overlay) (longest time.Duration, all bool) {
	all = !o.search.joining()
	o.links.mu.RLock()
	defer o.links.mu.RUnlock()
	for _, l := range o.links.all {
		if l.up() {
			trip := l.RTT()
			longest, all = max(longest, min(trip, maxTrip)), all && trip > 0
		}
	}
	return longest, all
}

// describe returns the status of a link that is up or being opened.
func describe(l *Link) (LinkStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LinkStatus{Peer: l.peer.String()}
	if !l.up() {
		s.State = "opening"
		return s, l.reconnect.dialing
	}
	s.State = "up"
	if l.suspected.Load() {
		s.State = "suspect"
	}
	s.Addr = l.known.addr
	s.Session, s.Version, s.Agent, s.Name = l.number.Load(), l.known.version, l.known.agent, l.known.name
	s.Gateway = l.known.gateway
	if ahead, known := l.o.clocks.ahead(l.peer); known {
		s.ClockAhead = &ahead
	}
	s.RTT = l.RTT()
	s.Sent, s.Received = l.traffic.sums(), l.traffic.received.Load()
	queued, kept := l.load()
	s.Queued, s.Kept = queued.present(), kept.present()
	return s, true
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"
	"strings"
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
	RTT     time.Duration  `json:"rtt_ns,omitempty"`       // 0 = not measured yet
	Queued  map[string]int `json:"queued_bytes,omitempty"` // by lane, empty lanes left out
	Kept    map[string]int `json:"kept_bytes,omitempty"`   // sent and not acknowledged, likewise

	// Bytes of frames since the link was first needed, over all its sessions.
	Sent     ByLane `json:"sent_bytes"`
	Received uint64 `json:"received_bytes"`
}

// Link returns the link to p. It never returns nil and does not dial. The link
// to this node itself is always up, with session 1.
func (o *Overlay) Link(p peer.ID) *Link {
	if p == o.self {
		return o.loopback
	}
	o.mu.RLock()
	l := o.links[p]
	o.mu.RUnlock()
	if l != nil {
		return l
	}
	fresh := newLink(o, p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if l := o.links[p]; l != nil {
		return l
	}
	if len(o.links) >= o.lookAt {
		o.forgetLinks()
		o.lookAt = max(minLinks, 2*len(o.links))
	}
	o.links[p] = fresh
	return fresh
}

// linkOfCaller is Link for a peer that calls; nil if there are too many.
func (o *Overlay) linkOfCaller(p peer.ID) *Link {
	o.mu.RLock()
	full := len(o.links) >= maxLinks && o.links[p] == nil
	o.mu.RUnlock()
	if full {
		return nil
	}
	return o.Link(p)
}

// forgetLinks removes the links that nobody needs, so that a node that lives
// long in a network with much change does not grow. o.mu is held.
func (o *Overlay) forgetLinks() {
	now := o.clock.Now()
	for p, l := range o.links {
		if l.forget(now) {
			delete(o.links, p)
		}
	}
}

// forget gives the link up if nobody needs it.
func (l *Link) forget(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	needed := l.up() || l.dialing.open || l.held() || len(l.known.callers) > 0 ||
		l.joining != nil || len(l.waiters) > 0 || len(l.events) > 0 ||
		now.Sub(l.known.downSince) < forgetAfter
	if !needed {
		l.forgotten.Store(true)
	}
	return !needed
}

// allLinks lists the links to other nodes, by peer id.
func (o *Overlay) allLinks() []*Link {
	o.mu.RLock()
	links := make([]*Link, 0, len(o.links))
	for _, l := range o.links {
		links = append(links, l)
	}
	o.mu.RUnlock()
	slices.SortFunc(links, func(a, b *Link) int { return strings.Compare(string(a.peer), string(b.peer)) })
	return links
}

// Links describes all links that are up or being opened, by peer id.
func (o *Overlay) Links() []LinkStatus {
	var all []LinkStatus
	for _, l := range o.allLinks() {
		if s, ok := l.status(); ok {
			all = append(all, s)
		}
	}
	return all
}

func (l *Link) status() (LinkStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LinkStatus{Peer: l.peer.String()}
	if !l.up() {
		s.State = "opening"
		return s, l.dialing.open
	}
	sess := l.last.Load()
	s.State = "up"
	if l.suspected.Load() {
		s.State = "suspect"
	}
	s.Addr = l.known.addr
	s.Session, s.Version, s.Agent = sess.Number(), l.known.version, l.known.agent
	s.RTT = sess.RTT()
	s.Sent, s.Received = l.traffic.sums(), l.traffic.received.Load()
	for lane := range Lane(laneCount) {
		queued, kept := sess.Load(lane)
		s.Queued = addLane(s.Queued, lane, queued)
		s.Kept = addLane(s.Kept, lane, kept)
	}
	return s, true
}

func addLane(m map[string]int, lane Lane, n int) map[string]int {
	if n == 0 {
		return m
	}
	if m == nil {
		m = make(map[string]int)
	}
	m[lane.String()] = n
	return m
}

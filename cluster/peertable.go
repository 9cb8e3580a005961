// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// Times of re-dialling.
const (
	dialFirst   = 250 * time.Millisecond // after a failure; doubled by each further one
	dialLongest = 30 * time.Second
	dialGiveUp  = 15 * time.Second // an Open without answer counts as failed
)

// blink is how long a peer may not be heard without being taken for silent. A connection
// that breaks is mostly followed by the next one after some round trips, and the session
// goes on: who anchors what need not change for that.
var blink = overlay.Patience{Time: 500 * time.Millisecond, Trips: 4}

// peerTable is the core that keeps links to the peers this node needs, and knows
// which of them can be reached. It dials nobody that nobody wants.
type peerTable struct {
	self   peer.ID
	rng    *prng
	out    *outbox
	peers  map[peer.ID]*peerState
	linked neighbours // those whose links are up
	homes  prefixes   // theirs
	waits  *settling
	alarm  alarm
	events []peerNews // the control core drains it
}

// peerNews says that the state of a peer changed.
type peerNews struct {
	peer  peer.ID
	blink bool // only in that it misses heartbeats, or no longer does, without being silent
}

// peerState is one peer. It is kept while its link is up or somebody needs it.
type peerState struct {
	session  uint64       // 0 = down
	prefix   netip.Prefix // of the address that its last connection showed
	suspect  bool
	silent   bool      // for so long that it may not come back
	blinks   time.Time // when it is silent; zero = it is, or is heard
	lost     bool      // was up, or could not be dialled, and has not come since
	addrs    []string
	located  bool // addrs came while it was being dialled without
	wants    int  // users that want the link up
	holds    int  // users that want heartbeats
	opening  bool
	opened   time.Time // when it was dialled last
	failures int       // dials in a row
	at       time.Time // opening: when to give up; else when to dial again; zero = neither
}

func newPeerTable(self peer.ID, addrs func() []string, d *prng, out *outbox, waits *settling) *peerTable {
	return &peerTable{
		self: self, rng: d, out: out, waits: waits, peers: make(map[peer.ID]*peerState),
		homes: prefixes{addrs: addrs, linked: make(map[netip.Prefix]int)},
	}
}

// session returns the session of the link to p, 0 if it is down. The link to
// oneself is always up.
func (r *peerTable) session(p peer.ID) uint64 {
	if p == r.self {
		return 1
	}
	if c := r.peers[p]; c != nil {
		return c.session
	}
	return 0
}

// linkUp says whether the link to p has a session.
func (r *peerTable) linkUp(p peer.ID) bool { return r.session(p) != 0 }

// failing says that p could not be dialled and has not been heard of since.
func (r *peerTable) failing(p peer.ID) bool {
	c := r.peers[p]
	return c != nil && c.session == 0 && c.failures > 0
}

// lost says that the link to p broke or could not be established.
func (r *peerTable) lost(p peer.ID) bool {
	c := r.peers[p]
	return c != nil && c.lost
}

// dialling says that a link to p is being established, and that no dial has failed since
// it was heard.
func (r *peerTable) dialling(p peer.ID) bool {
	c := r.peers[p]
	return c != nil && c.opening && c.failures == 0
}

// mayAnswer says that p is heard of, or that a link to it is being established.
func (r *peerTable) mayAnswer(p peer.ID) bool {
	if r.linkUp(p) {
		return !r.suspect(p)
	}
	c := r.peers[p]
	return c != nil && c.opening && !c.lost
}

// suspect says that p misses heartbeats.
func (r *peerTable) suspect(p peer.ID) bool {
	c := r.peers[p]
	return c != nil && c.suspect
}

// silent says that p has missed heartbeats for so long that it may not come back.
func (r *peerTable) silent(p peer.ID) bool {
	c := r.peers[p]
	return c != nil && c.silent
}

// heard has p be heard, or without a link: then it is no longer waited for.
func (c *peerState) heard() { c.suspect, c.silent, c.blinks = false, false, time.Time{} }

func (r *peerTable) get(p peer.ID) *peerState {
	c := r.peers[p]
	if c == nil {
		c = &peerState{}
		r.peers[p] = c
	}
	return c
}

// want keeps the link to p up until unwant; calls are counted. addrs help to
// find p and may be nil.
func (r *peerTable) want(now time.Time, p peer.ID, addrs []string) {
	if p == r.self {
		return
	}
	c := r.get(p)
	if c.wants++; c.wants == 1 {
		r.out.add(needAction{p, true})
	}
	if addrs != nil {
		r.learn(now, p, addrs)
	}
	if c.session == 0 && c.at.IsZero() {
		c.open(now, r, p)
	}
}

func (r *peerTable) unwant(p peer.ID) {
	c := r.peers[p]
	if c == nil {
		return
	}
	if c.wants--; c.wants == 0 {
		r.out.add(needAction{p, false})
	}
	r.tidy(p, c)
}

// hold asks for heartbeats until unhold; calls are counted.
func (r *peerTable) hold(p peer.ID) {
	if p == r.self {
		return
	}
	c := r.get(p)
	if c.holds++; c.holds == 1 {
		r.out.add(holdAction{p, true})
	}
}

func (r *peerTable) unhold(p peer.ID) {
	c := r.peers[p]
	if c == nil {
		return
	}
	if c.holds--; c.holds == 0 {
		r.out.add(holdAction{p, false})
	}
	r.tidy(p, c)
}

// learn replaces the addresses that p is dialled at. Dials that did not know any say
// nothing about p: it is dialled at once, or when the one under way has failed.
func (r *peerTable) learn(now time.Time, p peer.ID, addrs []string) {
	c := r.peers[p]
	if c == nil {
		return
	}
	first := len(c.addrs) == 0 && len(addrs) > 0
	c.addrs = addrs
	switch {
	case !first || c.session != 0:
	case c.opening:
		c.located = true
	case c.failures > 0:
		r.again(now, p, c)
	}
}

// retry dials p without further delay, unless that was done a moment ago:
// there is news that p lives. Until the link is up p counts as failing.
func (r *peerTable) retry(now time.Time, p peer.ID) {
	if c := r.peers[p]; c != nil && !now.Before(c.opened.Add(dialFirst)) {
		r.again(now, p, c)
	}
}

// found dials p, which a lookup has found, without further delay if it could
// not be dialled just once: whoever joins hears of its anchors before it knows
// where they are, and the lookup has told.
func (r *peerTable) found(now time.Time, p peer.ID) {
	if c := r.peers[p]; c != nil && c.failures == 1 {
		r.again(now, p, c)
	}
}

func (r *peerTable) again(now time.Time, p peer.ID, c *peerState) {
	if c.session != 0 || c.wants == 0 || c.opening {
		return
	}
	c.failures = min(c.failures, 1)
	c.lost = false
	r.events = append(r.events, peerNews{peer: p})
	c.open(now, r, p)
}

func (c *peerState) open(now time.Time, r *peerTable, p peer.ID) {
	c.opening, c.opened, c.located, c.at = true, now, false, now.Add(dialGiveUp)
	r.alarm.plan(c.at)
	r.out.add(openAction{p, c.addrs})
}

// up notes that the link has a new session, on a connection to addr.
func (r *peerTable) up(p peer.ID, session uint64, addr string) {
	c := r.get(p)
	c.session, c.lost = session, false
	c.heard()
	r.linked.add(placed{p, placeOfPeer(p)})
	c.opening, c.failures, c.at = false, 0, time.Time{}
	c.prefix = prefixOf(addr)
	r.homes.add(c.prefix, 1)
	r.homes.own = ownPrefix(r.homes.addrs())
	r.events = append(r.events, peerNews{peer: p})
}

// down notes that the session ended. A link that is wanted is dialled at
// once: a broken connection says nothing about the next one.
func (r *peerTable) down(now time.Time, p peer.ID) {
	c := r.peers[p]
	if c == nil || c.session == 0 {
		return
	}
	c.session, c.lost = 0, true
	c.heard()
	r.linked.remove(placeOfPeer(p))
	r.homes.add(c.prefix, -1)
	r.events = append(r.events, peerNews{peer: p})
	if c.wants > 0 {
		c.open(now, r, p)
	} else {
		r.tidy(p, c)
	}
}

// setSuspect notes what the heartbeats say.
func (r *peerTable) setSuspect(now time.Time, p peer.ID, on bool) {
	c := r.peers[p]
	if c == nil || c.session == 0 || c.suspect == on {
		return
	}
	r.events = append(r.events, peerNews{p, !c.silent})
	if !on {
		c.heard()
		return
	}
	c.suspect, c.blinks = true, now.Add(r.waits.atLeast(now, blink))
	r.alarm.plan(c.blinks)
}

// dialFailed notes that an Open failed, ours or somebody else's. While a
// next try is planned anyway, others do not put it off further.
func (r *peerTable) dialFailed(now time.Time, p peer.ID) {
	c := r.peers[p]
	if c == nil || c.session != 0 || (!c.opening && !c.at.IsZero()) {
		return
	}
	if c.located && c.wants > 0 {
		c.open(now, r, p)
		return
	}
	c.opening, c.lost = false, true
	c.at = now.Add(backoff(r.rng, c.failures, dialFirst, dialLongest))
	r.alarm.plan(c.at)
	c.failures++
	r.events = append(r.events, peerNews{peer: p})
	r.tidy(p, c)
}

// tick dials those whose time has come, and takes those for silent who are.
func (r *peerTable) tick(now time.Time) {
	if !r.alarm.rings(now) {
		return
	}
	var ready, silent []peer.ID
	for p, c := range r.peers {
		if r.alarm.check(c.at, now) {
			ready = append(ready, p)
		}
		if r.alarm.check(c.blinks, now) {
			silent = append(silent, p)
		}
	}
	slices.Sort(ready)
	slices.Sort(silent)
	for _, p := range silent {
		c := r.peers[p]
		c.silent, c.blinks = true, time.Time{}
		r.events = append(r.events, peerNews{peer: p})
	}
	for _, p := range ready {
		c := r.peers[p]
		switch {
		case c.opening:
			r.dialFailed(now, p)
		case c.wants > 0:
			c.open(now, r, p)
		default:
			c.at = time.Time{}
			r.tidy(p, c)
		}
	}
}

// tidy forgets a peer that is down and that nobody needs. One that could not be dialled is
// remembered until it would be dialled again: else whoever lacks anchors would take it
// for one at once, dial it, fail, and so on without end.
func (r *peerTable) tidy(p peer.ID, c *peerState) {
	failed := c.failures > 0 && !c.opening && !c.at.IsZero()
	if c.session == 0 && c.wants <= 0 && c.holds <= 0 && !failed {
		delete(r.peers, p)
	}
}

// seen notes the address that p's connection shows.
func (r *peerTable) seen(p peer.ID, addr string) {
	c := r.peers[p]
	at := prefixOf(addr)
	if c == nil || c.session == 0 || !at.IsValid() || at == c.prefix {
		return
	}
	r.homes.add(c.prefix, -1)
	r.homes.add(at, 1)
	c.prefix = at
	r.events = append(r.events, peerNews{peer: p})
}

// prefix is where p is at home; the zero Prefix if that is not known.
func (r *peerTable) prefix(p peer.ID) netip.Prefix {
	if p == r.self {
		return r.homes.own
	}
	if c := r.peers[p]; c != nil {
		return c.prefix
	}
	return netip.Prefix{}
}

// apart says whether p is known to be at home in none of these networks.
func (r *peerTable) apart(p peer.ID, from []netip.Prefix) bool {
	at := r.prefix(p)
	return at.IsValid() && !slices.Contains(from, at)
}

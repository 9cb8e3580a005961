// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Bounds and times of the search for peers.
const (
	maxCandidates     = 256
	maxLost           = 128 // lost peers that are dialled for ever
	maxLAN            = 64  // candidates that anybody on the local network can announce
	maxCandidateAddrs = 16
	maxDials          = 5 // at a time, of them one less to seeds, and one less to others
	maxLANDials       = 2 // of them to what the local network has announced

	backoffFirst = 250 * time.Millisecond
	backoffLast  = 5 * time.Second
	eagerTries   = 6 // failures after which a candidate is not urgent any more
	politeDelay  = 100 * time.Millisecond

	patrolPace     = time.Second
	patrolFor      = 10 * time.Minute
	patrolSlowPace = 30 * time.Second

	seedAgain = 10 * time.Second // until a seed that was reached is asked again
)

// candidates decides whom to dial and when. Pure core; bootstrap.go drives it:
// after each event the shell calls poll.
//
// A candidate is eager at first: dialled at once, then with back-off. After
// eagerTries failures, a lost peer goes on patrol, where one after the other is
// dialled, one a second for ten minutes and then one every 30 s for ever,
// because two halves of a network that both look complete would otherwise never
// meet again. Others are forgotten. With no connection at all everybody stays
// eager.
//
// A seed is an address, not a peer: each try asks afresh which nodes are there,
// and every seed is tried for ever, also while its last node is connected.
type candidates struct {
	self peer.ID
	rand RandStream

	list      []*candidate // in order of arrival
	connected map[peer.ID]bool
	left      map[peer.ID]bool // of connected: those that have said goodbye
	dialing   int              // dials under way
	lastID    uint64
	forgotten int // candidates given up for newer ones; the shell takes it

	patrolNext, patrolSlowNext time.Time
}

type candidate struct {
	id       uint64
	peer     peer.ID // empty while unknown; of a seed, the last one reached there
	addrs    []string
	source   Source
	lost     bool // it had a link or was dialled, and has an address; like a seed, it is not given up
	left     bool // it said goodbye before it was lost
	dialing  bool
	failures int
	next     time.Time // when to dial; zero on patrol
	since    time.Time // when it was added or lost, for the pace of the patrol
	dialled  time.Time // last
}

// dial is what poll asks for; result must follow.
type dial struct {
	id        uint64
	candidate Candidate
}

func newCandidates(self peer.ID, rand RandStream) *candidates {
	return &candidates{self: self, rand: rand, connected: make(map[peer.ID]bool), left: make(map[peer.ID]bool)}
}

// add learns of a candidate.
func (cs *candidates) add(now time.Time, c Candidate) {
	if c.Peer == cs.self || (c.Peer == "" && len(c.Addrs) == 0) {
		return
	}
	if cs.connected[c.Peer] && c.Source != SourceSeed {
		return
	}
	if known := cs.find(c); known != nil {
		if c.Source == SourceLAN && !known.announced() {
			known.addrs = mergeAddrs(known.addrs, c.Addrs)
		} else {
			known.addrs = mergeAddrs(c.Addrs, known.addrs)
		}
		return
	}
	cs.insert(&candidate{
		peer:   c.Peer,
		addrs:  mergeAddrs(c.Addrs, nil),
		source: c.Source,
		next:   now.Add(cs.courtesy(c.Peer, c.Source == SourceLAN)),
		since:  now,
	})
}

// reseed replaces the seeds. A dial to a former one may still end.
func (cs *candidates) reseed(now time.Time, addrs []string) {
	cs.list = slices.DeleteFunc(cs.list, func(c *candidate) bool {
		return c.source == SourceSeed && !slices.Contains(addrs, c.addrs[0])
	})
	for _, a := range addrs {
		cs.add(now, Candidate{Addrs: []string{a}, Source: SourceSeed})
	}
}

// courtesy is how long to wait for a peer that learns of us at the same time:
// if both dial at once, there are two connections, or on some systems none.
// The lower peer id goes first.
func (cs *candidates) courtesy(p peer.ID, mutual bool) time.Duration {
	if mutual && p != "" && p < cs.self {
		return politeDelay
	}
	return 0
}

// up learns that a connection to p stands.
func (cs *candidates) up(now time.Time, p peer.ID) {
	cs.connected[p] = true
	delete(cs.left, p)
	cs.list = slices.DeleteFunc(cs.list, func(c *candidate) bool {
		switch {
		case c.peer != p:
			return false
		case c.source != SourceSeed:
			c.failures, c.lost, c.left, c.next = 0, false, false, time.Time{}
			return !c.dialing
		case c.failures > 0: // its node is back, perhaps at this address
			c.next = now
		default:
			c.next = now.Add(cs.about(seedAgain))
		}
		return false
	})
}

// down learns that the last connection to p is gone. addrs are where it was
// reachable, by its link or a dial; a peer without any is not looked for.
func (cs *candidates) down(now time.Time, p peer.ID, addrs []string) {
	if !cs.connected[p] {
		return
	}
	delete(cs.connected, p)
	next := now.Add(cs.courtesy(p, true))
	c := cs.find(Candidate{Peer: p})
	if c == nil && len(addrs) > 0 {
		c = &candidate{peer: p, source: SourcePeer, lost: true}
		cs.insert(c)
	}
	if c != nil {
		c.addrs = mergeAddrs(addrs, c.addrs)
		c.lost, c.left = true, cs.left[p]
		c.failures, c.since, c.next = 0, now, next
		cs.trimLost()
	}
	delete(cs.left, p)
	for _, seed := range cs.list {
		if seed.source == SourceSeed && seed.peer == p {
			seed.failures, seed.next = 0, next
		}
	}
	if len(cs.connected) == 0 {
		cs.alarm(now)
	}
}

// bye learns that p has said goodbye: if it is not found again, it was not lost.
func (cs *candidates) bye(p peer.ID) {
	if cs.connected[p] {
		cs.left[p] = true
	} else if c := cs.find(Candidate{Peer: p}); c != nil {
		c.left = true
	}
}

// missed counts the seeds and the peers that a node without any connection should have:
// not itself, nor those that have left. What only the local network has announced counts
// for a few dials: anybody there can announce anything. soon says that one of them has not
// been tried yet, or is for the first time.
func (cs *candidates) missed() (seeds, peers int, soon bool) {
	for _, c := range cs.list {
		switch {
		case c.peer == cs.self || c.source != SourceSeed && c.left || c.announced() && c.failures >= eagerTries:
			continue
		case c.source == SourceSeed:
			seeds++
		default:
			peers++
		}
		soon = soon || c.failures == 0
	}
	return seeds, peers, soon
}

// alarm makes everybody eager again.
func (cs *candidates) alarm(now time.Time) {
	for _, c := range cs.list {
		c.failures, c.since = 0, now
		if c.next.IsZero() || c.next.After(now.Add(politeDelay)) {
			c.next = now.Add(cs.courtesy(c.peer, true))
		}
	}
}

// result learns how a dial ended: err, or the peer that was reached.
func (cs *candidates) result(now time.Time, id uint64, p peer.ID, err error) {
	i := slices.IndexFunc(cs.list, func(c *candidate) bool { return c.id == id })
	cs.dialing--
	if i < 0 {
		return
	}
	c := cs.list[i]
	c.dialing = false
	var replaced *ReplacedError
	switch {
	case errors.As(err, &replaced) && c.source != SourceSeed && !cs.connected[c.peer] && !cs.pinned(c.peer):
		cs.remove(c)
		cs.add(now, Candidate{Peer: replaced.By, Addrs: []string{replaced.Addr}, Source: SourcePeer})
	case err != nil:
		cs.failed(now, c)
	default:
		cs.reached(now, c, p)
	}
}

// pinned reports whether a seed names p as well as an address. Then no other node will do.
func (cs *candidates) pinned(p peer.ID) bool {
	return slices.ContainsFunc(cs.list, func(c *candidate) bool {
		return c.source == SourceSeed && strings.HasSuffix(c.addrs[0], "/p2p/"+p.String())
	})
}

func (cs *candidates) reached(now time.Time, c *candidate, p peer.ID) {
	c.peer, c.failures = p, 0
	if p == cs.self {
		c.next = now.Add(cs.about(seedAgain))
		return
	}
	// What else led to this peer is not needed; a seed is kept rather.
	cs.list = slices.DeleteFunc(cs.list, func(other *candidate) bool {
		return other != c && other.peer == p && other.source != SourceSeed && !other.dialing
	})
	if !cs.connected[p] {
		c.next = now.Add(patrolPace) // the connection's own news must come by then
		return
	}
	if c.source == SourceSeed {
		c.next = now.Add(cs.about(seedAgain))
		return
	}
	cs.remove(c)
}

func (cs *candidates) failed(now time.Time, c *candidate) {
	if c.source != SourceSeed && cs.connected[c.peer] { // it came by itself
		cs.remove(c)
		return
	}
	if c.next.IsZero() {
		return // on patrol
	}
	c.failures++
	if c.failures < eagerTries || len(cs.connected) == 0 || c.source == SourceSeed {
		c.next = now.Add(cs.backoff(c.failures))
		return
	}
	c.next = time.Time{}
	if !c.lost {
		cs.remove(c)
	}
}

// backoff is the pause after the n-th failure in a row.
func (cs *candidates) backoff(n int) time.Duration {
	d := backoffLast
	if n < 6 {
		d = min(d, backoffFirst<<(n-1))
	}
	return min(cs.about(d), backoffLast)
}

// about is d ± a quarter, so that nodes that started together do not stay in step.
func (cs *candidates) about(d time.Duration) time.Duration {
	quarter := int(d / 4 / time.Millisecond)
	return d + time.Duration(cs.rand.IntN(2*quarter+1)-quarter)*time.Millisecond
}

// announced says whether nobody but the local network has spoken of c. Anybody there
// can say anything, so that what it says takes no place of others.
func (c *candidate) announced() bool { return c.source == SourceLAN && !c.lost }

// crowded returns which candidates must wait until a dial to one of their kind ends, so
// that addresses that never answer leave room for others.
func (cs *candidates) crowded() func(c *candidate) bool {
	seeds, announced := 0, 0
	for _, c := range cs.list {
		switch {
		case !c.dialing:
		case c.source == SourceSeed:
			seeds++
		case c.announced():
			announced++
		}
	}
	return func(c *candidate) bool {
		if c.source == SourceSeed {
			return seeds >= maxDials-1
		}
		return cs.dialing-seeds >= maxDials-1 || c.announced() && announced >= maxLANDials
	}
}

// insert adds c. If there are too many one of the others goes.
func (cs *candidates) insert(c *candidate) {
	if len(cs.list) >= maxCandidates || c.announced() && cs.count((*candidate).announced) >= maxLAN {
		i := slices.IndexFunc(cs.list, func(old *candidate) bool { return old.announced() && !old.dialing })
		if i < 0 && !c.announced() {
			i = slices.IndexFunc(cs.list, func(old *candidate) bool {
				return old.source != SourceSeed && !old.lost && !old.dialing
			})
		}
		cs.forgotten++
		if i < 0 {
			return // full of what must be kept: the new one goes
		}
		cs.list = slices.Delete(cs.list, i, i+1)
	}
	cs.lastID++
	c.id = cs.lastID
	cs.list = append(cs.list, c)
}

// count is how many candidates there are of a kind.
func (cs *candidates) count(kind func(c *candidate) bool) int {
	n := 0
	for _, c := range cs.list {
		if kind(c) {
			n++
		}
	}
	return n
}

// trimLost forgets the peer that was lost first, if there are too many.
func (cs *candidates) trimLost() {
	var first *candidate
	lost := 0
	for _, c := range cs.list {
		if !c.lost {
			continue
		}
		lost++
		if first == nil || c.since.Before(first.since) {
			first = c
		}
	}
	if lost > maxLost {
		cs.remove(first)
		cs.forgotten++
	}
}

func (cs *candidates) remove(c *candidate) {
	if i := slices.Index(cs.list, c); i >= 0 {
		cs.list = slices.Delete(cs.list, i, i+1)
	}
}

// find returns the entry for the same peer, or, for what has no peer id, the
// one with the same addresses. What is known of a peer is not a seed's: that is
// an address where another one may be tomorrow.
func (cs *candidates) find(c Candidate) *candidate {
	for _, known := range cs.list {
		if c.Peer != "" && known.peer == c.Peer && known.source != SourceSeed {
			return known
		}
		if c.Peer == "" && known.source == c.Source && slices.Equal(known.addrs, c.Addrs) {
			return known
		}
	}
	return nil
}

// mergeAddrs is first, then what rest adds to it, bounded.
func mergeAddrs(first, rest []string) []string {
	var merged []string
	for _, list := range [][]string{first, rest} {
		for _, a := range list {
			if len(merged) < maxCandidateAddrs && !slices.Contains(merged, a) {
				merged = append(merged, a)
			}
		}
	}
	return merged
}

// poll returns the dials to begin now, and when to poll again; zero means
// after the next event.
func (cs *candidates) poll(now time.Time) (dials []dial, wake time.Time) {
	ready := cs.ready(now)
	for _, c := range ready {
		if cs.dialing >= maxDials {
			break // polled again when a dial ends
		}
		if cs.crowded()(c) {
			continue
		}
		dials = append(dials, cs.begin(now, c))
	}
	return dials, cs.wake(now)
}

// ready lists whom to dial now: the eager ones by the time they are due, then
// those whose turn the patrol says it is.
func (cs *candidates) ready(now time.Time) []*candidate {
	var ready []*candidate
	for _, c := range cs.list {
		if cs.wanted(c) && !c.next.IsZero() && !c.next.After(now) {
			ready = append(ready, c)
		}
	}
	slices.SortStableFunc(ready, func(a, b *candidate) int { return a.next.Compare(b.next) })
	if c := cs.patrol(now, false); c != nil && !now.Before(cs.patrolNext) && cs.dialing+len(ready) < maxDials {
		cs.patrolNext = now.Add(patrolPace)
		ready = append(ready, c)
	}
	if c := cs.patrol(now, true); c != nil && !now.Before(cs.patrolSlowNext) && cs.dialing+len(ready) < maxDials {
		cs.patrolSlowNext = now.Add(patrolSlowPace)
		ready = append(ready, c)
	}
	return ready
}

// wanted says whether c may be dialled at all.
func (cs *candidates) wanted(c *candidate) bool {
	return !c.dialing && (c.source == SourceSeed || !cs.connected[c.peer])
}

// patrol returns who was not dialled for longest among those on patrol, at
// the normal or the slow pace.
func (cs *candidates) patrol(now time.Time, slow bool) *candidate {
	var first *candidate
	for _, c := range cs.list {
		if !cs.wanted(c) || !c.next.IsZero() || (now.Sub(c.since) >= patrolFor) != slow {
			continue
		}
		if first == nil || c.dialled.Before(first.dialled) {
			first = c
		}
	}
	return first
}

func (cs *candidates) begin(now time.Time, c *candidate) dial {
	c.dialing, c.dialled = true, now
	cs.dialing++
	asked := Candidate{Peer: c.peer, Addrs: slices.Clone(c.addrs), Source: c.source}
	if c.source == SourceSeed {
		asked.Peer = ""
	}
	return dial{id: c.id, candidate: asked}
}

// wake is when ready will find somebody next, if nothing happens before.
func (cs *candidates) wake(now time.Time) time.Time {
	if cs.dialing >= maxDials {
		return time.Time{}
	}
	var wake time.Time
	sooner := func(t time.Time) {
		if t.Before(now) {
			t = now
		}
		if wake.IsZero() || t.Before(wake) {
			wake = t
		}
	}
	crowded := cs.crowded()
	for _, c := range cs.list {
		switch {
		case !cs.wanted(c) || crowded(c):
		case !c.next.IsZero():
			sooner(c.next)
		case now.Sub(c.since) >= patrolFor:
			sooner(cs.patrolSlowNext)
		default:
			sooner(cs.patrolNext)
		}
	}
	return wake
}

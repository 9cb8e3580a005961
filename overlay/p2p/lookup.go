// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// sortByDistance sorts peers by their distance to target, closest first.
func sortByDistance(target overlay.Place, peers []peer.ID) {
	at := make(map[peer.ID]overlay.Place, len(peers))
	for _, p := range peers {
		at[p] = overlay.PlaceOf([]byte(p))
	}
	slices.SortFunc(peers, func(a, b peer.ID) int { return target.Closer(at[a], at[b]) })
}

// Bounds of a lookup.
const (
	lookupParallel = 6  // questions under way
	lookupAgree    = 3  // so many of the closest must have answered, even if fewer are wanted
	lookupKeep     = 64 // peers considered; the farthest are forgotten
)

// lookup finds the peers closest to a point by asking ever closer ones.
//
// Unlike kad-dht's own it ends when those asked for have answered, not the
// twenty closest; and who is slow holds nobody up. Pitfall "kad-dht lookups":
// one hung peer makes them take 20 to 30 s.
//
// Pure: the caller asks whom next says, and reports what comes of it.
type lookup struct {
	target  overlay.Place
	want    int
	entries []lookupEntry // by distance
	asking  int           // entries asked and not slow

	// extra are asked in any case, however far they are: what they know is
	// the point. False until they are under way.
	extra map[peer.ID]bool
}

type lookupEntry struct {
	peer  peer.ID
	at    overlay.Place
	alive bool // connected, or has answered: may be part of the result
	state lookupState
}

type lookupState uint8

const (
	lookupHeard    lookupState = iota // not asked yet
	lookupAsked                       // under way
	lookupSlow                        // under way, and not waited for
	lookupAnswered                    // nothing more to learn from it
	lookupFailed                      // not part of the network any more
)

// newLookup begins with peers connected here; of these extra are asked even if
// far. self counts as a peer that has answered.
func newLookup(target overlay.Place, want int, self peer.ID, connected, extra []peer.ID) *lookup {
	l := &lookup{target: target, want: want, extra: make(map[peer.ID]bool)}
	l.insert(self, true)
	l.entries[0].state = lookupAnswered
	for _, p := range connected {
		l.insert(p, true)
	}
	for _, p := range extra {
		l.insert(p, true)
		l.extra[p] = false
	}
	return l
}

func (l *lookup) insert(p peer.ID, alive bool) {
	e := lookupEntry{peer: p, at: overlay.PlaceOf([]byte(p)), alive: alive}
	i, found := slices.BinarySearchFunc(l.entries, e.at, func(e lookupEntry, at overlay.Place) int {
		return l.target.Closer(e.at, at)
	})
	if found {
		return
	}
	l.entries = slices.Insert(l.entries, i, e)
	if last := len(l.entries) - 1; last >= lookupKeep {
		l.leave(last)
		l.entries = l.entries[:last]
	}
}

// leave stops waiting for entry i.
func (l *lookup) leave(i int) {
	if l.entries[i].state == lookupAsked {
		l.asking--
	}
}

func (l *lookup) find(p peer.ID) int {
	return slices.IndexFunc(l.entries, func(e lookupEntry) bool { return e.peer == p })
}

// front calls f for the closest entries that count, as many as must have
// answered before the lookup is over, until f returns false.
func (l *lookup) front(f func(e *lookupEntry) bool) {
	left := max(l.want, lookupAgree)
	for i := range l.entries {
		e := &l.entries[i]
		if e.state == lookupFailed {
			continue
		}
		if left == 0 || !f(e) {
			return
		}
		left--
	}
}

// next returns whom to ask now; they count as asked.
func (l *lookup) next() []peer.ID {
	var ask []peer.ID
	l.front(func(e *lookupEntry) bool {
		if e.state == lookupHeard {
			if l.asking >= lookupParallel {
				return false
			}
			e.state = lookupAsked
			l.asking++
			ask = append(ask, e.peer)
		}
		return true
	})
	for p, under := range l.extra {
		if under {
			continue
		}
		l.extra[p] = true
		if i := l.find(p); i < 0 {
			ask = append(ask, p)
		} else if l.entries[i].state == lookupHeard {
			l.entries[i].state = lookupAsked
			l.asking++
			ask = append(ask, p)
		}
	}
	return ask
}

// done says that nobody can bring the result any closer.
func (l *lookup) done() bool {
	if len(l.extra) > 0 {
		return false
	}
	done := true
	l.front(func(e *lookupEntry) bool {
		done = e.state == lookupAnswered || e.state == lookupSlow
		return done
	})
	return done
}

// answered reports what p has named.
func (l *lookup) answered(p peer.ID, named []peer.ID) {
	delete(l.extra, p)
	if i := l.find(p); i >= 0 {
		l.leave(i)
		l.entries[i].state = lookupAnswered
		l.entries[i].alive = true
	}
	for _, q := range named {
		l.insert(q, false)
	}
}

// failed reports that p could not be asked.
func (l *lookup) failed(p peer.ID) {
	delete(l.extra, p)
	if i := l.find(p); i >= 0 {
		l.leave(i)
		l.entries[i].state = lookupFailed
	}
}

// slow reports that p takes longer than anybody should wait. If it is
// connected it stays in the result: a hung peer is still where others expect
// it, until its connection ends.
func (l *lookup) slow(p peer.ID) {
	delete(l.extra, p)
	i := l.find(p)
	switch {
	case i < 0 || l.entries[i].state != lookupAsked:
	case l.entries[i].alive:
		l.leave(i)
		l.entries[i].state = lookupSlow
	default:
		l.failed(p)
	}
}

// result returns the closest peers that are known to be there, at most want.
func (l *lookup) result() []peer.ID {
	var found []peer.ID
	for _, e := range l.entries {
		if e.alive && e.state != lookupFailed && len(found) < l.want {
			found = append(found, e.peer)
		}
	}
	return found
}

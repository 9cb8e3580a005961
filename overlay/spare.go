// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

const (
	// spareLook is the time between two looks for links that nobody needs. One that
	// neither side needs ends after two to four of them in which nothing moved:
	// longer than the pauses between the frames of whatever does not hold its link.
	spareLook = 5 * time.Second
	// spareKept is how many links a node keeps whether it needs them or not, so that
	// what all nodes are told reaches it by several ways. Networks of nine nodes lose none.
	spareKept = 8
)

// spare decides whether a link is one that neither side needs. One side can't know: the
// other may want to reach this one at any moment. So each says what it thinks, and
// the link ends when both have said the same, by the side with the lower id. Pure core.
type spare struct {
	moved uint64 // bytes that had moved at the last look
	about bool   // what has moved since then was, in part, about this
	said  bool   // this side has said that it does not need the link
	heard uint8  // the peer has, and how many links it has: their bit length; 0 = it has not
	left  bool   // this side has begun to end it
}

// spareAction is what follows from a look.
type spareAction uint8

const (
	spareNothing spareAction = iota
	spareSay                 // tell the peer that this side does not need the link
	spareUnsay               // tell it that this side needs the link again
	spareLeave               // end it
)

// look is called from time to time: moved counts the bytes that the link has carried,
// needed says whether this side needs it, first whether it is the side that ends it.
func (s *spare) look(moved uint64, needed, first bool) spareAction {
	quiet := moved == s.moved || s.about
	s.moved, s.about = moved, false
	switch {
	case s.left:
	case needed:
		return s.need()
	case !quiet:
	case !s.said:
		s.said, s.about = true, true
		return spareSay
	case s.heard > 0 && first:
		s.left = true
		return spareLeave
	}
	return spareNothing
}

// need notes that this side needs the link.
func (s *spare) need() spareAction {
	if !s.said || s.left {
		return spareNothing
	}
	s.said, s.about = false, true
	return spareUnsay
}

// told notes what the peer says.
func (s *spare) told(links uint8) { s.heard, s.about = links, true }

// spares ends the links that nobody needs: a node through which many others have joined
// would keep one to each of them for ever. The connection below stays for as long as the
// transport likes.
type spares struct {
	o *Overlay
	repeated
}

// look goes through the links. Those of peers that have most links go first: a node that
// all others have joined through has one to each of them, which none of them needs. Among
// equals both sides prefer the same, or those that one keeps would be others than those
// that the other keeps.
func (s *spares) look() {
	type ranked struct {
		l      *Link
		theirs uint8
		pair   uint64
	}
	var up []ranked
	for _, l := range s.o.links.sorted() {
		l.mu.Lock()
		if l.up() {
			up = append(up, ranked{l, l.spare.heard, pairOf(s.o.self, l.peer)})
		}
		l.mu.Unlock()
	}
	slices.SortStableFunc(up, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.theirs, a.theirs), cmp.Compare(b.pair, a.pair))
	})
	tooMany := len(up) - spareKept
	for _, r := range up {
		if lookAt(r.l, tooMany > 0, uint8(bits.Len(uint(len(up))))) {
			tooMany--
		}
	}
}

// pairOf is a number that two nodes agree on, and that has nothing to do with where they
// are: what remains of the links is no islands.
func pairOf(a, b peer.ID) uint64 {
	h := sha256.Sum256([]byte(min(a, b) + max(a, b)))
	return binary.BigEndian.Uint64(h[:])
}

// lookAt looks at one link, and says whether this side does without it.
func lookAt(l *Link, mayGo bool, links uint8) (spared bool) {
	l.mu.Lock()
	defer l.unlock()
	if !l.up() {
		return false
	}
	act(l, l.spare.look(l.traffic.moved(), !mayGo || needed(l), l.first()), links)
	return l.spare.said
}

// needed says whether anything here depends on the link. mu is held, as below.
func needed(l *Link) bool {
	if l.holders.needed() || !l.attached() || l.suspected.Load() || l.joining != nil || len(l.callers) > 0 || len(l.waiters) > 0 {
		return true
	}
	queued, kept := l.load()
	return queued != ByLane{} || kept != ByLane{}
}

// act does what the core wants. links is the bit length of the number of links.
func act(l *Link, a spareAction, links uint8) {
	switch a {
	case spareSay, spareUnsay:
		body := []byte{0}
		if a == spareSay {
			body[0] = links
		}
		l.after.Add(func() { _, _ = l.Send(LaneCtl, wire.KindSpare, body) }) // a lane without room is no link to end
	case spareLeave:
		s := l.last.Load()
		l.after.Add(func() { s.Leave(codeSpare, "neither side needs the link") })
		l.o.after("overlay/spare-left", shutdownLimit, func() { s.Break(session.ErrLeft, codeSpare) }) // a peer that hangs
	}
}

// until counts a use of l, until it is released.
func until(l *Link, count func(l *Link, n int32)) (release func()) {
	l = l.lock()
	defer l.release()
	count(l, 1)
	act(l, l.spare.need(), 0)
	released := false // guarded by mu
	return func() {
		l.mu.Lock()
		defer l.release()
		if !released {
			released = true
			count(l, -1)
		}
	}
}

// heardSpare handles what a peer says of a link.
func heardSpare(l *Link, body []byte) (kept bool) {
	if len(body) != 1 || body[0] > 64 {
		l.o.drops.Inc(dropSpare)
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	l.spare.told(body[0])
	return false
}

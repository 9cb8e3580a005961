// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// Times of authority: an anchor calls a cluster empty only if it can know.
const (
	hintRetry   = 500 * time.Millisecond // a co-anchor that did not answer is asked again
	hintRefresh = 3 * time.Second        // an answer is asked for again after this, doubled each time …
	hintLongest = time.Minute
	hintGrace   = 3 * time.Second // … and believed for so much longer
)

// authority decides whether this node may call one cluster empty, and whom it
// has to ask for that. Pure core: the anchor drives it.
type authority struct {
	anchorSet *anchorSet
	waits     *waiting // nil = for nothing
}

// waiting is what an authority waits for.
type waiting struct {
	orphaned time.Time // when a lease last ended with its link; its member may be back at once
	opinions []opinion // of co-anchors, by distance
	next     time.Time // when to step again without news; zero = never
}

// wait is what the authority waits for, to be changed.
func (u *authority) wait() *waiting {
	if u.waits == nil {
		u.waits = &waiting{}
	}
	return u.waits
}

// orphaned is when a lease last ended with its link; zero = long ago.
func (u *authority) orphaned() (none time.Time) {
	if u.waits == nil {
		return none
	}
	return u.waits.orphaned
}

// next is when to step again without news; zero = never.
func (u *authority) next() (none time.Time) {
	if u.waits == nil {
		return none
	}
	return u.waits.next
}

// opinions are those of the co-anchors; who calls it may change each.
func (u *authority) opinions() []opinion {
	if u.waits == nil {
		return nil
	}
	return u.waits.opinions
}

// opinion is what one co-anchor says of a cluster that has no lease here.
type opinion struct {
	peer   peer.ID
	leases int
	until  time.Time // it is believed; zero = never heard

	asked    time.Time
	answered bool          // since asked
	lasts    time.Duration // until it is asked again
}

// step says whether this node may call the cluster empty, and which co-anchors
// to ask now so that it can as soon as possible: none unless it consults, because somebody
// watches and there is no lease. linked says who can be asked.
func (u *authority) step(now time.Time, self peer.ID, s *settling, consults bool, linked func(peer.ID) bool) (settled bool, ask []peer.ID) {
	if !consults {
		u.rest(now, s)
		return u.grounded(now, self, s), nil
	}
	u.wait().next = time.Time{}
	ask = u.consult(now, self, s.atLeast(now, overlay.Patience{Time: hintRetry, Trips: askTrips}), linked)
	agree, other := 1, u.anchorSet.isOther(self) // this node
	for _, o := range u.opinions() {
		switch {
		case !now.Before(o.until):
		case o.leases > 0:
			return false, ask
		default:
			agree++
			other = other || u.anchorSet.isOther(o.peer)
		}
	}
	return u.grounded(now, self, s) && u.anchorSet.decides(agree, other), ask
}

// rest forgets what need not be waited for while nobody is consulted.
func (u *authority) rest(now time.Time, s *settling) {
	if at := u.orphaned(); now.Before(at.Add(s.time(now))) {
		u.waits = &waiting{orphaned: at}
	} else {
		u.waits = nil
	}
}

// grounded says whether this node is an anchor, knows of nobody else who may be
// one, and has had the same neighbours for a while; to be alone is a
// neighbourhood too. A member whose link broke gets as much time to come back.
// If only time is missing it plans to look again.
func (u *authority) grounded(now time.Time, self peer.ID, s *settling) bool {
	if !u.anchorSet.isAnchor(self) || u.anchorSet.unsure {
		return false
	}
	from := u.anchorSet.stands(now, s.time(now))
	if at := u.orphaned(); at.After(from) {
		from = at
	}
	if over, next := s.over(now, from); !over {
		u.plan(next)
		return false
	}
	return true
}

// plan has the authority step again at that time.
func (u *authority) plan(at time.Time) {
	if w := u.wait(); w.next.IsZero() || at.Before(w.next) {
		w.next = at
	}
}

// consult keeps the opinions of the current co-anchors fresh, and returns whom
// to ask, after retry once more.
func (u *authority) consult(now time.Time, self peer.ID, retry time.Duration, linked func(peer.ID) bool) (ask []peer.ID) {
	var opinions []opinion
	for _, p := range u.anchorSet.anchors {
		if p == self {
			continue
		}
		if o := u.of(p); o != nil {
			opinions = append(opinions, *o)
		} else {
			opinions = append(opinions, opinion{peer: p})
		}
	}
	u.wait().opinions = opinions
	for i := range opinions {
		o := &opinions[i]
		if !linked(o.peer) {
			continue // forget comes
		}
		wait := retry
		if o.answered {
			wait = o.lasts
		}
		if at := o.asked.Add(wait); now.Before(at) {
			u.plan(at)
			continue
		}
		o.asked, o.answered = now, false
		u.plan(now.Add(retry))
		ask = append(ask, o.peer)
	}
	return ask
}

// doubt has the co-anchors asked soon again: somebody new wants to know.
func (u *authority) doubt(now time.Time) {
	opinions := u.opinions()
	for i := range opinions {
		o := &opinions[i]
		o.lasts = min(o.lasts, hintRefresh)
		if until := now.Add(hintGrace); o.until.After(until) {
			o.until = until
		}
	}
}

// heard notes how many leases a co-anchor has. It reports whether that matters.
func (u *authority) heard(now time.Time, from peer.ID, leases int) bool {
	o := u.of(from)
	if o == nil {
		return false
	}
	if !o.answered {
		o.lasts = min(max(2*o.lasts, hintRefresh), hintLongest)
	}
	o.leases, o.until, o.answered = leases, now.Add(o.lasts+hintGrace), true
	return true
}

// forget drops what p said: its link came up or went down. It reports whether
// that matters.
func (u *authority) forget(p peer.ID) bool {
	o := u.of(p)
	if o == nil {
		return false
	}
	*o = opinion{peer: p}
	return true
}

func (u *authority) of(p peer.ID) *opinion {
	opinions := u.opinions()
	for i := range opinions {
		if opinions[i].peer == p {
			return &opinions[i]
		}
	}
	return nil
}

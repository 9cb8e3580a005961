// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// announcing is how long a member waits at most for a watcher that can be reached to say
// that it knows of the member's lease.
var announcing = overlay.Patience{Time: time.Second, Trips: 4}

// announcement is leases that the watchers were told of together, and whose nodes wait
// until the watchers know. A majority of the anchors waits for its watchers, and a watcher
// believes a majority of them: so each watcher that can be reached knows.
type announcement struct {
	leases []leaseKey
	number uint64 // 1, 2, 3 … as long as somebody watches
	waits  int    // watchers that have not seen it
	until  time.Time
}

// announcer waits for the watchers of an anchor's books.
type announcer struct {
	*base
	deputies int            // of a shard
	plans    *agenda[*book] // the anchor's: when to look again
}

// announce queues a lease: its node hears when the watchers know of it.
func (u *audience) announce(k leaseKey) {
	if u != nil && len(u.watchers) > 0 && !u.announces(k) {
		u.announced = append(u.announced, k)
	}
}

// announces reports whether a lease waits for a watcher.
func (u *audience) announces(k leaseKey) bool {
	return u != nil && (slices.Contains(u.announced, k) ||
		slices.ContainsFunc(u.announcements, func(n announcement) bool { return slices.Contains(n.leases, k) }))
}

// announcing is the number of what the watchers are told now; 0 = nobody waits for it.
func (u *audience) announcing() uint64 {
	if len(u.announced) == 0 {
		return 0
	}
	return u.number + 1
}

// await begins to wait for the watchers, which were told. Nobody waits for one that is
// suspect.
func (a *announcer) await(now time.Time, b *book) {
	u := b.audience
	if u == nil || len(u.announced) == 0 {
		return
	}
	u.number++
	n := announcement{leases: u.announced, number: u.number, until: now.Add(a.finder.settling.atLeast(now, announcing))}
	u.announced = nil
	for _, w := range u.watchers {
		if a.peers.suspect(w.peer) {
			w.seen = u.number
		} else {
			n.waits++
		}
	}
	u.announcements = append(u.announcements, n)
	a.confirm(now, b)
}

// seen receives what callers at a watcher see.
func (a *anchor) seen(now time.Time, from peer.ID, m *seenMsg) {
	b := a.books.get(m.cid)
	if b == nil {
		return
	}
	if w := b.watchOf(from); w != nil && w.seq == m.seq {
		a.announcer.saw(now, b, w, m.number)
	}
}

// excuse stops waiting for a watcher.
func (a *announcer) excuse(now time.Time, b *book, w *remoteWatch) {
	if w != nil {
		a.saw(now, b, w, b.audience.number)
	}
}

func (a *announcer) saw(now time.Time, b *book, w *remoteWatch, number uint64) {
	u := b.audience
	number = min(number, u.number)
	for i := range u.announcements {
		if n := &u.announcements[i]; w.seen < n.number && n.number <= number {
			n.waits--
		}
	}
	w.seen = max(w.seen, number)
	a.confirm(now, b)
}

// confirm tells the nodes of those leases that the watchers know of, or were told of long
// enough ago.
func (a *announcer) confirm(now time.Time, b *book) {
	if b.audience == nil {
		return
	}
	var over []leaseKey
	b.audience.announcements = slices.DeleteFunc(b.audience.announcements, func(n announcement) bool {
		if n.waits > 0 && now.Before(n.until) {
			a.plans.plan(b, n.until)
			return false
		}
		over = append(over, n.leases...)
		return true
	})
	for _, k := range over {
		if l := b.lease(k); l != nil {
			a.out.send(l.peer, b.answer(l, a.deputies))
		}
	}
}

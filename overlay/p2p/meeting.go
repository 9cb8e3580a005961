// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// meetGap is the least time between two lookups of our own id that new
	// connections cause.
	meetGap = 250 * time.Millisecond
	// meetGrowth and meetTimes say when the lookup is repeated after the last
	// new connection: after meetGap, and then after ever longer.
	meetGrowth = 4
	meetTimes  = 5
	// meetSilent is after how long a peer is asked again, at the latest, that
	// has not answered yet.
	meetSilent = 4 * time.Second
	// meetUnfinished is after how long we look again, at the latest, when time
	// was over before all had answered, and meetPatience for how long after the
	// last new connection that goes on: then the refresh is enough.
	meetUnfinished = time.Second
	meetPatience   = refreshEvery
	// After lostGap we look once who takes the place of a lost peer, and again after
	// lostAgain: others may have named who is lost, too.
	lostGap, lostAgain = time.Second, 4 * time.Second
	// neighbourhood is how many a lookup of our own id finds: this node, the closest of
	// all, and as many others as its table has a place for in any case.
	neighbourhood = bucketSize + 1
	// maxMet bounds the new peers that wait to be asked.
	maxMet = 64
)

// meeting decides when to look for our own neighbourhood because of new
// connections and lost ones, and who is asked in any case. Once is not enough: two nodes that
// connect to a third one at the same moment ask it before it knows the other,
// and would not hear of each other before the next refresh. And a peer whose
// answer is late, on a link that loses packets, is not in the table: were it not
// asked again, a node that knows nobody else would stay alone with it. And where
// handshakes are slow, as on a machine on which many nodes start at once, time is
// over before everybody who was named has been reached. And a bucket that was full
// had no place for others: where a network is cut in two, neighbours on our own side
// may be missing.
//
// Pure: routing.meet drives it.
type meeting struct {
	last, next time.Time // next is zero if none is planned
	newest     time.Time // the last new connection
	gap        time.Duration
	left       int
	peers      []peer.ID // to be asked in any case
}

// met says that a connection to p was made.
func (m *meeting) met(now time.Time, p peer.ID) {
	next := now
	if soonest := m.last.Add(meetGap); soonest.After(next) {
		next = soonest
	}
	if m.next.IsZero() || next.Before(m.next) {
		m.next = next
	}
	m.newest, m.gap, m.left = now, meetGap, meetTimes
	m.add(p)
}

func (m *meeting) add(p peer.ID) {
	if len(m.peers) < maxMet && !slices.Contains(m.peers, p) {
		m.peers = append(m.peers, p)
	}
}

// lost says that a peer of the table is lost.
func (m *meeting) lost(now time.Time) {
	m.soon(now.Add(lostGap))
	if m.left < 2 {
		m.gap, m.left = lostAgain, 2
	}
}

// due says whether to look now, and whom to ask in any case.
func (m *meeting) due(now time.Time) (asked []peer.ID, ok bool) {
	if m.next.IsZero() || now.Before(m.next) {
		return nil, false
	}
	m.last, m.next = now, time.Time{}
	if m.left--; m.left > 0 {
		m.next = now.Add(m.gap)
		m.gap *= meetGrowth
	}
	asked, m.peers = m.peers, nil
	return asked, true
}

// silent says that p is connected and has not answered.
func (m *meeting) silent(now time.Time, p peer.ID) {
	m.add(p)
	m.soon(now.Add(meetSilent))
}

// unfinished says that the lookup ended before all had answered.
func (m *meeting) unfinished(now time.Time) {
	if now.Sub(m.newest) < meetPatience {
		m.soon(now.Add(meetUnfinished))
	}
}

func (m *meeting) soon(at time.Time) {
	if m.next.IsZero() || at.Before(m.next) {
		m.next = at
	}
}

// enough says that looking again is not worth it, but for who is silent.
func (m *meeting) enough() {
	if len(m.peers) == 0 {
		m.next = time.Time{}
	}
}

// meet asks new peers for our own neighbourhood: so two parts of a network
// that were apart find all of each other again, even where the table has no
// place for the peers through which they met. In a network that is so large
// that not everybody knows everybody, it stops as soon as there is no news.
//
// Pitfall "bootstrap": kad-dht looks for peers when its table is empty, every
// two minutes. The overlay dials its candidates far more often, and here every
// new connection counts.
func (x *routing) meet() {
	var m meeting
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case p := <-x.met:
			m.met(time.Now(), p)
		case <-x.lost:
			m.lost(time.Now())
		case <-timer.C:
		case <-x.ctx.Done():
			return
		}
		if asked, due := m.due(time.Now()); due {
			ctx, cancel := context.WithTimeout(x.ctx, refreshTimeout)
			_, news, err := x.lookup(ctx, []byte(x.router.self), neighbourhood, asked)
			cancel()
			x.remindOf(&m, asked)
			switch size := x.table.Size(); {
			case !news && size > bucketSize:
				m.enough()
			case err != nil && size < bucketSize:
				m.unfinished(time.Now())
			}
		}
		if !m.next.IsZero() {
			timer.Reset(time.Until(m.next))
		}
	}
}

// remindOf has those asked again who are there, but not in the table though it
// has a place for everybody: they have not answered.
func (x *routing) remindOf(m *meeting, asked []peer.ID) {
	for _, p := range asked {
		if x.table.Size() < bucketSize && x.table.Find(p) == "" && x.host.Network().Connectedness(p) == network.Connected {
			m.silent(time.Now(), p)
		}
	}
}

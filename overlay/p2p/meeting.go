// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"time"

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
	// maxMet bounds the new peers that wait to be asked.
	maxMet = 64
)

// meeting decides when to look for our own neighbourhood because of new
// connections. Once is not enough: two nodes that connect to a third one at
// the same moment ask it before it knows the other, and would not hear of each
// other before the next refresh.
//
// Pure: routing.meet drives it.
type meeting struct {
	last, next time.Time // next is zero if none is planned
	gap        time.Duration
	left       int
}

// met says that a connection was made.
func (m *meeting) met(now time.Time) {
	next := now
	if soonest := m.last.Add(meetGap); soonest.After(next) {
		next = soonest
	}
	if m.next.IsZero() || next.Before(m.next) {
		m.next = next
	}
	m.gap, m.left = meetGap, meetTimes
}

// due says whether to look now.
func (m *meeting) due(now time.Time) bool {
	if m.next.IsZero() || now.Before(m.next) {
		return false
	}
	m.last, m.next = now, time.Time{}
	if m.left--; m.left > 0 {
		m.next = now.Add(m.gap)
		m.gap *= meetGrowth
	}
	return true
}

// enough says that looking again is not worth it.
func (m *meeting) enough() { m.next = time.Time{} }

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
	var peers []peer.ID // to be asked in any case
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case p := <-x.met:
			m.met(time.Now())
			if len(peers) < maxMet {
				peers = append(peers, p)
			}
		case <-timer.C:
		case <-x.ctx.Done():
			return
		}
		if m.due(time.Now()) {
			ctx, cancel := context.WithTimeout(x.ctx, refreshTimeout)
			_, news, _ := x.lookup(ctx, []byte(x.router.self), bucketSize, peers)
			cancel()
			peers = nil
			if !news && x.table.Size() > bucketSize {
				m.enough()
			}
		}
		if !m.next.IsZero() {
			timer.Reset(time.Until(m.next))
		}
	}
}

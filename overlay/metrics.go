// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync/atomic"

	"github.com/arke-mesh/arke/overlay/session"
)

// dropReason says why something was dropped: a session.Drop, or one of the
// overlay's own. The names are what status shows.
type dropReason uint8

const (
	dropHandshakeFailed = dropReason(session.Drops) + iota // an incoming stream that did not get past Hello
	dropHandshakeFull                                      // an incoming stream beyond the bound on handshakes
	dropCandidate                                          // a candidate forgotten in favour of a newer one
	dropReasons
)

// String returns the name as used in status and metrics.
func (r dropReason) String() string {
	switch r {
	case dropHandshakeFailed:
		return "handshake_failed"
	case dropHandshakeFull:
		return "handshake_full"
	case dropCandidate:
		return "candidate_forgotten"
	}
	return session.Drop(r).String()
}

// drops counts by reason. It may be used concurrently.
type drops [dropReasons]atomic.Uint64

func (d *drops) add(r dropReason, n int) {
	if r != dropReason(session.DropNone) && n > 0 {
		d[r].Add(uint64(n))
	}
}

// counts returns what occurred at least once.
func (d *drops) counts() map[string]uint64 {
	m := make(map[string]uint64)
	for r := dropReason(session.DropNone) + 1; r < dropReasons; r++ {
		if n := d[r].Load(); n > 0 {
			m[r.String()] = n
		}
	}
	return m
}

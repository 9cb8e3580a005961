// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "sync/atomic"

// dropReason says why something was dropped. The names are what status shows.
type dropReason uint8

const (
	dropNone             dropReason = iota
	dropLaneFullCtl                 // Send refused: the lane is full
	dropLaneFullRPC                 // the same
	dropLaneFullPub                 // the same
	dropLaneFullBulk                // the same
	dropLinkLost                    // a message that was queued when the session ended
	dropUnknownKind                 // a frame that nobody here handles
	dropMalformed                   // a stream that was reset because of what it carried
	dropMessageTooLarge             // a received message beyond Config.MaxMessage
	dropReassemblyFull              // a received message beyond the bounds on incomplete ones
	dropFragmentOrphan              // a fragment of a message that is not known
	dropFragmentMismatch            // an incomplete message that can't be completed
	dropPartialLost                 // an incomplete message when the session ended
	dropHandshakeFailed             // an incoming stream that did not get past Hello
	dropHandshakeFull               // an incoming stream beyond the bound on handshakes
	dropCandidate                   // a candidate forgotten in favour of a newer one
	dropReasons
)

// String returns the name as used in status and metrics.
func (r dropReason) String() string {
	names := [dropReasons]string{
		dropLaneFullCtl:      "lane_full_ctl",
		dropLaneFullRPC:      "lane_full_rpc",
		dropLaneFullPub:      "lane_full_pub",
		dropLaneFullBulk:     "lane_full_bulk",
		dropLinkLost:         "link_lost",
		dropUnknownKind:      "unknown_kind",
		dropMalformed:        "malformed",
		dropMessageTooLarge:  "message_too_large",
		dropReassemblyFull:   "reassembly_full",
		dropFragmentOrphan:   "fragment_orphan",
		dropFragmentMismatch: "fragment_mismatch",
		dropPartialLost:      "partial_lost",
		dropHandshakeFailed:  "handshake_failed",
		dropHandshakeFull:    "handshake_full",
		dropCandidate:        "candidate_forgotten",
	}
	if r == dropNone || r >= dropReasons {
		return "none"
	}
	return names[r]
}

// dropLaneFull is the reason of a refusal by lane l.
func dropLaneFull(l Lane) dropReason { return dropLaneFullCtl + dropReason(l) }

// drops counts by reason. It may be used concurrently.
type drops [dropReasons]atomic.Uint64

func (d *drops) add(r dropReason, n int) {
	if r != dropNone && n > 0 {
		d[r].Add(uint64(n))
	}
}

// counts returns what occurred at least once.
func (d *drops) counts() map[string]uint64 {
	m := make(map[string]uint64)
	for r := dropNone + 1; r < dropReasons; r++ {
		if n := d[r].Load(); n > 0 {
			m[r.String()] = n
		}
	}
	return m
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "errors"

// Errors of sessions. Tell them apart with errors.Is.
var (
	// ErrDown is returned by Send and its like when the session has ended, or
	// ends while they wait. Nothing was sent.
	ErrDown = errors.New("link is down")

	// ErrLaneFull is returned by Send when the lane's window would be passed.
	// Nothing was sent; the refusal is counted.
	ErrLaneFull = errors.New("lane is full")

	// ErrTooLarge is returned by Send and its like when the message exceeds
	// Config.MaxMessage. Nothing was sent.
	ErrTooLarge = errors.New("message too large")

	// ErrLost is why a connection ended that just broke.
	ErrLost = errors.New("connection lost")

	// ErrGoodbye is why a session ended that the peer ended on purpose.
	ErrGoodbye = errors.New("peer said goodbye")

	// ErrLeft is why a session ended that this side ended with Leave.
	ErrLeft = errors.New("said goodbye")

	// ErrSilent is why a connection or session ended whose peer was not heard.
	ErrSilent = errors.New("peer is silent")

	// ErrProtocol is why a connection or session ended whose peer sent what no
	// correct one sends.
	ErrProtocol = errors.New("protocol violation by peer")

	// ErrReplaced is why a connection ended in favour of another one.
	ErrReplaced = errors.New("another connection is used")
)

// ErrPoison is why a session ended that did not get on over several connections:
// something in it breaks them.
var ErrPoison = errors.New("what waits breaks connections")

// isEnd says that the session ended as agreed, and the connection with it.
func isEnd(err error) bool { return errors.Is(err, ErrGoodbye) || errors.Is(err, ErrLeft) }

// GoodbyeError is what Run returns when the peer said goodbye; it is ErrGoodbye.
type GoodbyeError struct {
	Code   uint32
	Reason string
}

// Error implements error.
func (e *GoodbyeError) Error() string { return ErrGoodbye.Error() + ": " + e.Reason }

// Unwrap implements the use of errors.Is.
func (e *GoodbyeError) Unwrap() error { return ErrGoodbye }

// Drop says why something was dropped. The names are what status shows.
type Drop uint8

// The reasons.
const (
	DropNone             Drop = iota
	DropLaneFullCtl           // Send refused: the lane is full
	DropLaneFullRPC           // the same
	DropLaneFullPub           // the same
	DropLaneFullBulk          // the same
	DropLinkLost              // a message that was not sent when the session ended
	DropUnknownKind           // a frame that nobody here handles
	DropMalformed             // a connection that was reset because of what it carried
	DropMessageTooLarge       // a received message beyond Config.MaxMessage
	DropReassemblyFull        // a received message beyond the bounds on incomplete ones
	DropFragmentOrphan        // a fragment of a message that is not known
	DropFragmentMismatch      // an incomplete message that can't be completed
	DropFragmentShare         // an incomplete message beyond the peer's share of Memory.Budget
	DropFragmentLate          // an incomplete message that took too long
	DropPartialLost           // an incomplete message when the session ended
	DropBeat                  // a heartbeat that could not be queued
	Drops
)

// String returns the name as used in status and metrics.
func (d Drop) String() string {
	names := [Drops]string{
		DropLaneFullCtl:      "lane_full_ctl",
		DropLaneFullRPC:      "lane_full_rpc",
		DropLaneFullPub:      "lane_full_pub",
		DropLaneFullBulk:     "lane_full_bulk",
		DropLinkLost:         "link_lost",
		DropUnknownKind:      "unknown_kind",
		DropMalformed:        "malformed",
		DropMessageTooLarge:  "message_too_large",
		DropReassemblyFull:   "reassembly_full",
		DropFragmentOrphan:   "fragment_orphan",
		DropFragmentMismatch: "fragment_mismatch",
		DropFragmentShare:    "fragment_share",
		DropFragmentLate:     "fragment_late",
		DropPartialLost:      "partial_lost",
		DropBeat:             "beat",
	}
	if d == DropNone || d >= Drops {
		return "none"
	}
	return names[d]
}

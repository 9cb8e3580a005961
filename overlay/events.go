// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/libp2p/go-libp2p/core/peer"

// PeerEventType says what happened to a link.
type PeerEventType uint8

// The types of PeerEvent.
const (
	LinkUp        PeerEventType = iota + 1 // a session began
	LinkDown                               // a session ended; Err is the cause
	LinkSuspect                            // the connection broke, or the peer does not answer heartbeats
	LinkRecovered                          // the session goes on, the peer was heard again
	DialFailed                             // an Open did not lead to a session; Err is the cause
)

// String returns the type's name as used in logs.
func (t PeerEventType) String() string {
	switch t {
	case LinkUp:
		return "up"
	case LinkDown:
		return "down"
	case LinkSuspect:
		return "suspect"
	case LinkRecovered:
		return "recovered"
	case DialFailed:
		return "dial failed"
	}
	return "unknown"
}

// PeerEvent is a change of one link. For each link LinkUp and LinkDown
// alternate, and no frame of a session is handled before its LinkUp or after
// its LinkDown has been delivered.
type PeerEvent struct {
	Type PeerEventType
	Peer peer.ID
	Link *Link
	// Session is the session that began, ended, or is in doubt; 0 for
	// DialFailed.
	Session uint64
	// Err is the cause of LinkDown and DialFailed, otherwise nil.
	Err error
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Reason says why a session was refused or ended. Closed list; do not reorder.
type Reason uint16

// The reasons.
const (
	ReasonMalformed  Reason = 1  // a frame could not be decoded
	ReasonTooLarge   Reason = 2  // a frame was beyond the limit
	ReasonKind       Reason = 3  // a kind is unknown and not skippable
	ReasonProtocol   Reason = 4  // a frame was not due
	ReasonVersion    Reason = 5  // no version in common
	ReasonToken      Reason = 6  // wrong token
	ReasonUser       Reason = 7  // the process belongs to another user
	ReasonClients    Reason = 8  // the relay has as many clients as it may have
	ReasonDraining   Reason = 9  // the relay is shutting down
	ReasonTimeout    Reason = 10 // no Hello in time
	ReasonSlow       Reason = 11 // the client does not read
	ReasonReplaced   Reason = 12 // the client came back in a newer session
	ReasonUnexpected Reason = 13 // something else, which the text says
)

// String returns the reason's name as used in logs, counters, and errors.
func (r Reason) String() string {
	switch r {
	case ReasonMalformed:
		return "malformed"
	case ReasonTooLarge:
		return "too_large"
	case ReasonKind:
		return "unknown_kind"
	case ReasonProtocol:
		return "protocol"
	case ReasonVersion:
		return "version"
	case ReasonToken:
		return "token"
	case ReasonUser:
		return "user"
	case ReasonClients:
		return "too_many_clients"
	case ReasonDraining:
		return "draining"
	case ReasonTimeout:
		return "timeout"
	case ReasonSlow:
		return "slow"
	case ReasonReplaced:
		return "replaced"
	}
	return "unexpected"
}

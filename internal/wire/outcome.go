// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Outcome says how a member's node answered a request. Closed list; do not
// reorder.
type Outcome uint8

// The outcomes of a request or survey. Only after OutcomeReply and
// OutcomeRemoteError has a handler run to its end; after OutcomeCancelled one may
// have begun; after the others none has begun. To the other patterns OutcomeReply
// says that the member has taken it.
const (
	OutcomeReply        Outcome = 0
	OutcomeRemoteError  Outcome = 1 // the handler refused; Code and Body say why
	OutcomeOverloaded   Outcome = 2 // the member's queue is full
	OutcomeNoSuchMember Outcome = 3 // gone, or another incarnation
	OutcomeDraining     Outcome = 4 // the member is leaving
	OutcomeExpired      Outcome = 5 // the deadline had passed before it ran
	OutcomeUnauthorized Outcome = 6 // the body can't be opened with the cluster key
	OutcomeTooLarge     Outcome = 7 // beyond the member's message size
	OutcomeCancelled    Outcome = 8 // the caller cancelled
	outcomeCount                = 9
)

// String returns the outcome's name as used in logs and metrics.
func (o Outcome) String() string {
	switch o {
	case OutcomeReply:
		return "reply"
	case OutcomeRemoteError:
		return "remote_error"
	case OutcomeOverloaded:
		return "overloaded"
	case OutcomeNoSuchMember:
		return "no_such_member"
	case OutcomeDraining:
		return "draining"
	case OutcomeExpired:
		return "expired"
	case OutcomeUnauthorized:
		return "unauthorized"
	case OutcomeTooLarge:
		return "too_large"
	case OutcomeCancelled:
		return "cancelled"
	}
	return "unknown"
}

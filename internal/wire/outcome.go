// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Outcome says how something that was asked for ended. It is the one list of
// them: a member's node answers a request with one, a relay a call of its
// client, and package patterns has the error and the exit status that each
// stands for. Closed list; do not reorder.
type Outcome uint8

// The outcomes. Only after OutcomeReply and OutcomeRemoteError has a handler run
// to its end; after OutcomeCancelled and OutcomeInterrupted one may have begun;
// after OutcomeDeadline if FlagMaybeRan is set; after the others none has begun.
// To the other patterns OutcomeReply says that the member has taken it.
const (
	OutcomeReply        Outcome = 0
	OutcomeRemoteError  Outcome = 1 // the handler refused; code and text say why
	OutcomeOverloaded   Outcome = 2 // the member's queue, or every member's, is full
	OutcomeNoSuchMember Outcome = 3 // gone, or another incarnation
	OutcomeDraining     Outcome = 4 // the member is leaving
	OutcomeExpired      Outcome = 5 // the deadline had passed before it ran
	OutcomeUnauthorized Outcome = 6 // the body can't be opened with the cluster key
	OutcomeTooLarge     Outcome = 7 // beyond a limit of size
	OutcomeCancelled    Outcome = 8 // the caller cancelled

	// Nodes do not say these to each other, but relays to their clients; and a gateway
	// says OutcomeUnreachable for a member that it lends.
	OutcomeNoMembers   Outcome = 9  // nobody serves the cluster
	OutcomeUnreachable Outcome = 10 // nobody could be reached
	OutcomeInterrupted Outcome = 11 // the member's process ended before the reply
	OutcomeDeadline    Outcome = 12 // the time was over
	OutcomeClosed      Outcome = 13 // the node is closing
	OutcomeTooMany     Outcome = 14 // as many are open as may be; the code says which limit
	OutcomeWouldBlock  Outcome = 15 // it would have to wait
	OutcomeTopic       Outcome = 16 // not a topic or pattern
	OutcomeFailed      Outcome = 17 // something else, which the text says

	// OutcomeCount is how many there are.
	OutcomeCount = 18
)

// String returns the outcome's name as used in JSON, logs and metrics.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

var outcomeNames = [OutcomeCount]string{
	"reply", "remote_error", "overloaded", "no_such_member", "draining", "expired", "unauthorized", "too_large",
	"cancelled", "no_members", "unreachable", "interrupted", "deadline", "closed", "too_many", "would_block", "topic", "other",
}

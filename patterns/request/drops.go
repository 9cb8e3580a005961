// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

// dropReason says why a frame, a request or a reply went no further.
type dropReason uint8

const (
	dropMalformed    dropReason = iota // a frame that can't be decoded
	dropNoMember                       // refused: no such member, or an earlier incarnation
	dropNoMethod                       // refused: the member does not implement the pattern
	dropUnauthorized                   // refused: not sealed, or not for us
	dropForgotten                      // refused: sealed for an ephemeral key that is gone; the caller was told the present one
	dropNoEphemeral                    // not sent: the member's record has no ephemeral key to seal with
	dropReplay                         // refused: sealed, and seen before
	dropDuplicate                      // the same request is under way
	dropTooLarge                       // beyond a limit on messages: not sent, or refused beyond the member's MessageBytes
	dropLength                         // refused: QueueLength requests wait
	dropBytes                          // refused: they have QueueBytes
	dropTime                           // refused: by what handlers take, it could not end before its deadline
	dropWorkers                        // refused: no worker is free in the whole node
	dropDraining                       // refused: the member is leaving
	dropExpired                        // thrown away unhandled: the deadline has passed
	dropCancelled                      // thrown away unhandled: the caller has cancelled
	dropOrphaned                       // thrown away unhandled: the caller's link is lost
	dropAbandoned                      // a push or broadcast that was accepted: the node closes, or Drain had no more time
	dropReplyUnsent                    // the reply could not be sent before the deadline
	dropReplyLate                      // a reply that nobody waits for any more, or never did
	dropReplyBad                       // a reply that is not sealed as it should be
	dropReplyLarge                     // a reply beyond what its survey takes
	dropReplyOver                      // a handler's reply that is too large to travel: its caller was told
	dropLaneFull                       // a request that did not fit into the lane to its member
	dropBudget                         // a retry that the budget did not allow
	dropUnasked                        // a member that was not asked: more than the survey takes replies
	dropNotAllowed                     // refused: the caller's certificate does not let it call the cluster
	dropReasons
)

// String returns the reason as used in the status.
func (d dropReason) String() string {
	return [...]string{
		"malformed", "no_such_member", "no_method", "unauthorized", "forgotten_key", "no_ephemeral_key", "replay", "duplicate", "too_large", "queue_length",
		"queue_bytes", "no_time", "workers", "draining", "expired", "cancelled", "orphaned", "abandoned", "reply_unsent", "reply_late",
		"reply_bad", "reply_large", "reply_too_large", "lane_full", "retry_budget", "survey_members", "not_allowed",
	}[d]
}

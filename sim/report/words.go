// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "strings"

// words writes an outcome's name for people.
func words(outcome string) string {
	if outcome == none {
		return "no outcome"
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// meaning explains an outcome.
func meaning(outcome string) string {
	switch outcome {
	case reply:
		return "the handler's reply arrived"
	case "accepted":
		return "a member's queue has the message"
	case "complete":
		return "every member answered, or has the message"
	case "partial":
		return "some members did, and the others are named"
	case "refused":
		return "the handler ran and returned an error"
	case "no_members":
		return "the cluster had no member that the caller knew"
	case "overloaded":
		return "every member that was asked had its queue full"
	case "unreachable":
		return "no member could be reached; the handler did not run"
	case "interrupted":
		return "the link broke when the handler may have run; not sent again"
	case "deadline":
		return "the caller's deadline passed"
	case "cancelled":
		return "the caller gave up"
	case "unauthorized":
		return "the keys do not fit"
	case "too_large":
		return "the message is over the limit"
	case "closed":
		return "the caller's node was shutting down"
	case "wrong_reply":
		return "the reply belongs to another request: a bug"
	case none:
		return "the request never ended: a bug"
	}
	return ""
}

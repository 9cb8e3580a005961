// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// Request is one request, push, survey or broadcast of the workload, a flood or
// the probes of the liveness phase, from the caller's side.
type Request struct {
	ID         uint64 // unique in the run; the first 8 bytes of its body
	Kind       string // push, survey, broadcast; "" or request
	Work       string // name of the workload; "probe" in the liveness phase
	Caller     string // node
	Cluster    string
	Idempotent bool
	Sent       time.Duration
	Deadline   time.Duration // since the run began
	Ended      time.Duration // -1 = it never did
	Outcomes   int           // how often it ended; 1 is right
	// Outcome is reply, refused, no_members, overloaded, unreachable,
	// interrupted, deadline, cancelled, unauthorized, too_large, closed,
	// wrong_reply, other; of a push accepted instead of reply; of a survey or
	// a broadcast that asked somebody complete or partial.
	Outcome  string
	MaybeRan bool   // deadline and cancelled: what the error said
	Detail   string // text of an outcome "other"
	Attempts int
	Member   string // that gave the outcome, if known
	Lost     bool   // the caller's own node was stopped, killed, lost or paused meanwhile: it counts for nothing but "has one outcome"

	// Of surveys and broadcasts.

	Answers []Answer // of a survey, as they came
	Taken   int      // how many members are said to have answered, or to have it in their queues
	Nodes   int      // of a broadcast: on how many nodes they are said to be
	Missing []Missing
}

// Answer is what one member answered to a survey.
type Answer struct {
	Member string
	At     time.Duration
	Wrong  bool // it belongs to another survey
}

// Missing is a member that a survey or a broadcast names as missing.
type Missing struct {
	Member  string
	Outcome string // why, in the words of Request.Outcome
}

// Many says whether it goes to every member.
func (r *Request) Many() bool { return r.Kind == "survey" || r.Kind == "broadcast" }

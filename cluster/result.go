// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Outcome is how a request ended, as far as the member's health goes.
type Outcome uint8

// The outcomes.
const (
	OutcomeOK          Outcome = iota // a reply
	OutcomeRemoteError                // the handler ran and refused
	OutcomeOverloaded                 // the member refused at once: full or draining
	OutcomeFailed                     // no answer over a sound link: no such member, deadline
	OutcomeAccepted                   // taken in, which says nothing about how fast the handler is
	OutcomeCancelled                  // says nothing about the handler: given up by the caller, or the link was lost
)

// Result tells how a request ended. Queue, Running and Service are what the
// reply carried.
type Result struct {
	Outcome Outcome
	Latency time.Duration // from sending to the reply
	Queue   int           // requests waiting at the member
	Running int           // handlers running at the member
	Service time.Duration // time in the handler; 0 = not told
}

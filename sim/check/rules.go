// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"
)

// Rules are what a run is judged by. The zero value of each bound is the
// default named beside it, which is right for the levels sim and stack;
// LevelRules has those for level net.
type Rules struct {
	Assert    []string // claims about metrics, see ParseAssertion
	Sometimes []string // claims that the run reached what it is about

	// Outcome is how late after its deadline a request may end. Default 5 ms,
	// and a microsecond for what the clock reads in between.
	Outcome time.Duration

	// Begin is how late after its request's deadline a handler may begin:
	// deadlines travel as link time, which is as wrong as the two directions of
	// a link differ. Default 50 ms.
	Begin time.Duration

	// Member is how far outside of its member's registration a handler may
	// begin. Default 0.
	Member time.Duration

	// Zombie is how long an observer that nothing disturbs may show a dead
	// member as live. Default 5 s.
	Zombie time.Duration

	// Converge is how long the view of a correct observer may be wrong after
	// the last fault, and how long after a fault that disturbs an observer its
	// view is not held against it. Default 5 s.
	Converge time.Duration

	// Settle is how long after the end of the safety phase probes may fail.
	// Default 5 s.
	Settle time.Duration

	// Known is how long a member must have been registered, reachable and
	// healthy until "no members" is a false answer. Default 2 s.
	Known time.Duration

	// LaneBytes bounds what waits in a node's lanes, by lane and for each of its
	// links: ctl, rpc, pub, bulk. Defaults: twice the overlay's own limits,
	// because an empty lane takes one message of any size.
	LaneBytes [4]uint64

	// Waiting bounds the requests that wait at a node, for each of its members.
	// Default 1024.
	Waiting int

	// Running bounds the handlers that run at a node, for each of its members.
	// Default 64.
	Running int
}

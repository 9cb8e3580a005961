// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// Rules are what a run is judged by. The zero value of each bound is the
// default named beside it, which is right for the levels sim and stack;
// LevelRules has those for level net.
type Rules struct {
	Assert    []string // claims about metrics, see ParseAssertion
	Sometimes []string // claims that the run reached what it is about

	// Outcome is how late after its deadline a request may end, and after the
	// deadline that it is told a handler may begin. Default 5 ms. A caller whose
	// clock is skewed may take one percent of its timeout more.
	Outcome time.Duration

	// Begin is how late after its request's deadline a handler may begin, and
	// how much later than that the deadline may be that it is told: deadlines
	// travel as link time, which is as wrong as the two directions of a link
	// differ. Default 500 ms; 2 s if a fault of links or a pause disturbs caller
	// or member, or if packets between them are lost or
	// queued anyway.
	Begin time.Duration

	// Member is how far outside of its member's registration a handler may
	// begin. Default 0.
	Member time.Duration

	// Zombie is how long an observer that nothing disturbs may take a dead
	// member to be alive. Default 5 s.
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

	// Deliver is how long a publication may take to a subscription, or the
	// report that it is missing; what was published later than that before the
	// end of either proves nothing. Default 5 s.
	Deliver time.Duration

	// Ahead is how many bytes a tunnel's sender may be ahead of its receiver,
	// besides two messages. Default 4 MiB + 64 KiB.
	Ahead int64

	// LaneBytes bounds what waits in a node's lanes, by lane and for each of its
	// links: ctl, rpc, pub, bulk. Defaults: the overlay's 1, 4, 4 and 8 MiB,
	// and 16 MiB more for a node, because an empty lane takes a message of any
	// size.
	LaneBytes [4]uint64

	// Waiting bounds the requests that wait at a node, for each of its members.
	// Default 1024; negative = none may.
	Waiting int

	// Running bounds the handlers that run at a node, for each of its members.
	// Default 64.
	Running int
}

// LevelRules returns the bounds for a level: sim, stack or net. Level net runs
// in real time beside other programs.
func LevelRules(level string) Rules {
	if level != "net" {
		return Rules{}
	}
	return Rules{
		Outcome:  250 * time.Millisecond,
		Begin:    time.Second,
		Member:   100 * time.Millisecond,
		Zombie:   8 * time.Second,
		Converge: 8 * time.Second,
		Settle:   8 * time.Second,
		Known:    4 * time.Second,
		Deliver:  8 * time.Second,
	}
}

func (r Rules) withDefaults() Rules {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&r.Outcome, 5 * time.Millisecond},
		{&r.Begin, 500 * time.Millisecond},
		{&r.Zombie, 5 * time.Second},
		{&r.Converge, 5 * time.Second},
		{&r.Settle, 5 * time.Second},
		{&r.Known, 2 * time.Second},
		{&r.Deliver, 5 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	for i, d := range [4]uint64{1 << 20, 4 << 20, 4 << 20, 8 << 20} {
		if r.LaneBytes[i] == 0 {
			r.LaneBytes[i] = d
		}
	}
	if r.Ahead <= 0 {
		r.Ahead = 4<<20 + 64<<10
	}
	switch {
	case r.Waiting == 0:
		r.Waiting = 1024
	case r.Waiting < 0:
		r.Waiting = 0
	}
	if r.Running <= 0 {
		r.Running = 64
	}
	return r
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

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

	// HeldBytes bounds what a relay holds for one client, and one message more.
	// Default: the sum of a relay's lanes, 41 MiB.
	HeldBytes uint64

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
	if r.HeldBytes == 0 {
		r.HeldBytes = 41 << 20
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

// Unit is what a metric is measured in.
type Unit string

// Units of metrics.
const (
	Count    Unit = "count"   // a whole number
	Millis   Unit = "ms"      // a duration in milliseconds
	Percent  Unit = "%"       // of a whole, 100 is all of it
	Bytes    Unit = "bytes"   // a whole number of bytes
	BytesSec Unit = "bytes/s" // bytes per second
	Ratio    Unit = "ratio"   // a quotient
)

// faultKind is what counts one kind of fault.
type faultKind struct {
	do      string
	metric  string
	meaning string
}

func faultKinds() []faultKind {
	return []faultKind{
		{"crash", "crashes", "the process died and its peers saw it"},
		{"silence", "silences", "the node vanished without a word"},
		{"stop", "stops", "the node left in good order"},
		{"pause", "pauses", "the node stood still"},
		{"slow", "slows", "the node's handlers took longer"},
		{"cut", "cuts", "nothing passed from some nodes to others"},
		{"clog", "clogs", "nothing passed for a while, and nothing broke"},
		{"degrade", "degrades", "links got worse"},
		{"skew", "skews", "a node's clock was wrong"},
		{"corrupt", "corruptions", "a bit flipped"},
		{"break", "breaks", "connections were reset"},
		{"move", "moves", "a running node got another address"},
		{"router", "router_faults", "a node's router was slow, stale or wrong"},
		{"flood", "floods", "more requests than usual"},
		{"attack", "attacks", "a node did harm"},
		{"ban", "bans", "a node was excluded"},
		{"revoke", "revocations", "a node's certificates were taken back"},
		{"rotate", "rotations", "keys were replaced by new ones"},
	}
}

// dies tells those in which it says no farewell.
func dies(do string) bool { return do == "crash" || do == "silence" }

// Undoes tells actions that are no faults but end them. A start shows in the
// lives of its node. What is over at once although its kind lasts ends a fault,
// too: slow with factor 1, a router made normal again.
func Undoes(f history.Fault) bool {
	switch f.Do {
	case "mend", "unclog", "resume", "heal", "start", "restart":
		return true
	case "slow", "router", "skew", "degrade":
		return f.Until == f.At
	default:
		return false
	}
}

// disturbs tells faults while which, and for some time after which, what the
// nodes that they hit see of others and others of them proves nothing.
func disturbs(do string) bool {
	return slices.Contains([]string{"cut", "clog", "degrade", "pause", "router", "corrupt", "move"}, do)
}

// lasts tells faults that stand until they are undone, at the latest when the
// liveness phase begins.
func lasts(do string) bool {
	return slices.Contains([]string{"cut", "clog", "degrade", "pause", "router", "slow", "skew", "flood", "attack"}, do)
}

// Over is when a fault ended. What lasts is ended by the liveness phase; what
// took a node away is over at once, because the others get used to that.
func Over(h *history.History, fault history.Fault) time.Duration {
	switch {
	case fault.Until >= fault.At:
		return fault.Until
	case lasts(fault.Do):
		return max(fault.At, h.Safety)
	default:
		return fault.At
	}
}

func measureFaults(c *disturbance, s metrics) {
	total := 0
	kinds := make(map[string]int)
	for _, fault := range c.h.Faults {
		if Undoes(fault) {
			continue
		}
		kinds[fault.Do]++
		total++
	}
	restarts, starts := 0, 0
	for _, lives := range c.lives.byName {
		restarts += len(lives) - 1
		if c.h.Nodes[lives[0]].From > c.h.Start {
			starts++
		}
	}
	s.count("faults", total)
	s.count("restarts", restarts)
	s.count("starts", starts)
	for _, k := range faultKinds() {
		s.count(k.metric, kinds[k.do])
	}
}

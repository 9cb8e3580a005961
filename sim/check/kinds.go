// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
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
		{"router", "router_faults", "a node's router was slow, stale or wrong"},
		{"flood", "floods", "more requests than usual"},
	}
}

// removes tells faults that end a node's life.
func removes(do string) bool { return do == "crash" || do == "silence" || do == "stop" }

// dies tells those in which it says no farewell.
func dies(do string) bool { return do == "crash" || do == "silence" }

// Undoes tells actions that are no faults but end them. A start shows in the
// lives of its node. What is over at once although its kind lasts ends a fault,
// too: slow with factor 1, a router made normal again.
func Undoes(f *history.Fault) bool {
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
	switch do {
	case "cut", "clog", "degrade", "pause", "router", "corrupt":
		return true
	default:
		return false
	}
}

// lasts tells faults that stand until they are undone, at the latest when the
// liveness phase begins.
func lasts(do string) bool {
	switch do {
	case "cut", "clog", "degrade", "pause", "router", "slow", "skew", "flood":
		return true
	default:
		return false
	}
}

// Over is when a fault ended. What lasts is ended by the liveness phase; what
// took a node away is over at once, because the others get used to that.
func Over(h *history.History, fault *history.Fault) time.Duration {
	switch {
	case fault.Until >= fault.At:
		return fault.Until
	case lasts(fault.Do):
		return max(fault.At, h.Safety)
	default:
		return fault.At
	}
}

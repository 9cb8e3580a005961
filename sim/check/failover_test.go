// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/history"
)

// This test checks detection, reroute and convergence of one crash, whose times
// are known.
func TestACrashIsMeasured(t *testing.T) {
	s := peace()
	s.crash(10*sec, 300*ms)
	s.Views[len(s.Views)-3].At = 10*sec + 200*ms // c2 knows earlier
	retry := &s.Requests[90]                     // c1, sent at 10 s
	retry.Attempts, retry.Ended = 2, 10*sec+250*ms
	lost := &s.Requests[91] // c2, sent at 10.1 s
	lost.Outcome, lost.MaybeRan, lost.Ended = "interrupted", true, 10*sec+120*ms
	later := &s.Requests[95] // c2, sent at 10.5 s: it knew
	later.Attempts = 2
	early := &s.Requests[80] // c1, sent at 9 s, over before
	early.Attempts = 2
	claims(
		t, s,
		"crashes == 1", "faults == 1", "silences == 0",
		"detections == 2", "detection_p50 == 200ms", "detection_p99 == 300ms", "detection_max == 300ms",
		"affected == 2", "reroute_p50 == 120ms", "reroute_max == 250ms",
		"misrouted_p50 == 0s", "misrouted_max == 100ms", "affected{load} == 2", "reroute_max{load} == 250ms",
		"convergence_max == 300ms", "convergence_last == 300ms", "zombie_max == 300ms",
		"requests == 300", "retried == 3", "attempts_max == 2", "lost == 1", "interrupted == 1", "success < 100%", "success > 99.6%",
	)
}

// This test checks that observers that can't know don't count, and those that
// never learn do.
func TestDetectionLeavesOutWhoCanNotKnow(t *testing.T) {
	s := peace()
	s.crash(10*sec, 300*ms)
	s.fault(9*sec, 11*sec, "cut", "c1", "m3")
	claims(t, s, "detections == 1")

	s = peace()
	s.crash(10*sec, 300*ms)
	s.Nodes[0].Until, s.Nodes[0].Correct = 10*sec+100*ms, false
	claims(t, s, "detections == 1")

	s = peace()
	s.crash(10*sec, sec)
	s.Views = s.Views[:6]
	claims(t, s, "detections == 2", "detection_max == 31s", "convergence_max == 31s")

	s = peace()
	s.crash(10*sec, 300*ms)
	s.Faults[0].Do = "stop"
	claims(t, s, "detections == 0", "stops == 1", "convergence_max == 300ms")
	absent(t, s, "detection_p50", "detection_max", "reroute_p50")
}

// This test checks that a restart takes until everybody sees the new member,
// and the heal of a cut until views are right.
func TestReturnsAndHealsAreMeasured(t *testing.T) {
	s := peace()
	s.crash(10*sec, 300*ms)
	s.fault(12*sec, -1, "restart", "m2")
	s.Nodes = append(s.Nodes, history.Node{Name: "m2", From: 12100 * ms, Until: -1, Correct: true})
	again := s.serve("m2", 12200*ms)
	s.Tenures[again].Member = "m2b"
	s.view(12350*ms, "c1", "m2b", "live")
	s.view(12500*ms, "c2", "m2b", "live")
	claims(
		t, s, "restarts == 1", "faults == 1", "convergence_max == 400ms", "convergence_p50 == 300ms",
		"convergence_last == 400ms", "members == 4", "serve_max == 200ms", "register_p50 == 100ms",
		"seen_p50 == 50ms", "seen_max == 200ms",
	)

	s = peace()
	s.fault(10*sec, 20*sec, "cut", "c1", "m1")
	s.fault(20*sec, 20*sec, "mend", "c1", "m1")
	s.fault(31*sec, 31*sec, "heal")
	s.view(11*sec, "c1", "m1", "unreachable")
	s.view(20700*ms, "c1", "m1", "live")
	claims(
		t, s, "faults == 1", "cuts == 1", "convergence_p50 == 700ms", "convergence_max == 700ms",
		"convergence_last == 700ms", "false_suspicions == 0",
	)
	absent(t, s, "detection_p50", "reroute_p50")
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks what views may look like after the last fault and at the
// end: exactly the live members, within the bound.
func TestViewsConverge(t *testing.T) {
	restarted := func(s *story) {
		s.Nodes[0].Until, s.Nodes[0].Correct = 20*sec, false
		s.Nodes = append(s.Nodes, history.Node{Name: "c1", From: 21 * sec, Until: -1, Correct: true})
		s.fault(20*sec, -1, "crash", "c1")
		s.fault(21*sec, -1, "restart", "c1")
	}
	runCases(t, nil, []verdictCase{
		{name: "a crash that is noticed", make: func(s *story) { s.crash(10*sec, sec) }},
		{name: "a crash that is noticed too late", make: func(s *story) { s.crash(10*sec, 5100*ms) }, want: []string{"converge", "zombie"}},
		{name: "a larger bound", make: func(s *story) { s.crash(10*sec, 5100*ms) }, rules: check.Rules{Converge: 6 * sec, Zombie: 6 * sec}},
		{name: "suspect for long", make: func(s *story) {
			s.view(10*sec, "c1", "m1", "suspect")
			s.view(16*sec, "c1", "m1", "live")
		}, want: []string{"converge"}},
		{name: "suspect for a while", make: func(s *story) {
			s.view(10*sec, "c1", "m1", "suspect")
			s.view(14*sec, "c1", "m1", "live")
		}},
		{name: "suspect at the end", make: func(s *story) { s.view(40*sec, "c1", "m1", "suspect") }, want: []string{"converge"}},
		{name: "ejected at the end", make: func(s *story) { s.view(30*sec, "c1", "m1", "ejected") }},
		{name: "suspect for long, before the last fault", make: func(s *story) {
			s.view(5*sec, "c1", "m1", "suspect")
			s.view(16*sec, "c1", "m1", "live")
			s.crash(15*sec, ms)
		}},
		{name: "a member that just joined", make: func(s *story) { s.serve("m1", 40*sec) }},
		{name: "a member that nobody sees", make: func(s *story) {
			s.Tenures[s.serve("m1", 20*sec)].Member = "another"
		}, want: []string{"converge", "forgotten"}},
		{name: "a member with other keys that nobody sees", make: func(s *story) {
			s.Nodes = append(s.Nodes, history.Node{Name: "x", Key: "other", From: 100 * ms, Until: -1, Correct: true})
			s.serve("x", 20*sec)
		}},
		{name: "a member that nobody registered", make: func(s *story) {
			s.view(10*sec, "c1", "m9", "live")
		}, want: []string{"converge", "zombie"}},
		{name: "a registration that may have succeeded", make: func(s *story) {
			s.Tenures[s.serve("m3", 9*sec)] = history.Tenure{Cluster: "echo", Node: "m3", Peer: "peer-m9", Asked: 9 * sec, From: -1, Leaving: -1, Until: -1}
			s.view(10*sec, "c1", "m9", "live")
		}},
		{name: "an observer that is not correct", make: func(s *story) {
			s.Nodes[0].Correct = false
			s.view(10*sec, "c1", "m1", "suspect")
		}},
		{name: "a node that asked once, long ago", make: func(s *story) {
			s.Nodes = append(s.Nodes, history.Node{Name: "x", From: 100 * ms, Until: -1, Correct: true})
			s.ask(2*sec, "x", 0, "load")
			for _, member := range []string{"m1", "m2", "m3"} {
				s.view(2010*ms, "x", member, "live")
			}
			s.view(30*sec, "x", "m1", "")
		}},
		{name: "views of a node that was restarted", make: restarted, want: []string{"converge", "forgotten"}},
		{name: "views of a node that was restarted and sees again", make: func(s *story) {
			restarted(s)
			for _, member := range []string{"m1", "m2", "m3"} {
				s.view(22*sec, "c1", member, "live")
			}
		}},
	})
}

// This test checks that the dead are not shown as live for long, and who is
// excused.
func TestZombiesAreFound(t *testing.T) {
	runCases(t, nil, []verdictCase{
		{name: "for long, and then something else happens", make: func(s *story) {
			s.crash(10*sec, 5100*ms)
			s.fault(15*sec, 16*sec, "pause", "m3")
		}, want: []string{"zombie"}},
		{name: "long after the cut", make: func(s *story) {
			s.crash(10*sec, 20*sec)
			s.fault(9*sec, 16*sec, "cut", "c1", "c2", "m3")
		}, want: []string{"converge", "zombie"}},
		{name: "for good", make: func(s *story) { s.crash(10*sec, 40*sec) }, want: []string{"converge", "zombie"}},
	})
	unnoticed := func(s *story) { s.crash(10*sec, 8*sec) }
	runCases(t, unnoticed, []verdictCase{
		{name: "the observers are cut off", make: func(s *story) { s.fault(9*sec, 16*sec, "cut", "c1", "c2", "m3") }},
		{name: "the observers are cut off, said by sides", make: func(s *story) {
			s.Faults = append(s.Faults, history.Fault{
				At: 9 * sec, Until: 16 * sec, Do: "clog", Between: [][]string{{"c1", "c2"}, {"m3"}},
			})
		}},
		{name: "everybody is cut off", make: func(s *story) { s.fault(9*sec, 16*sec, "cut") }},
		{name: "only one observer is cut off", make: func(s *story) { s.fault(9*sec, 16*sec, "cut", "c1", "m3") }, want: []string{"zombie"}},
		{name: "the observer died, too", make: func(s *story) {
			s.fault(12*sec, -1, "crash", "c1", "c2")
			for i := range 2 {
				s.Nodes[i].Until, s.Nodes[i].Correct = 12*sec, false
			}
		}},
	})
}

// This test checks that a live member that is not seen again is lost for good,
// and only then.
func TestLiveMembersAreNotForgotten(t *testing.T) {
	runCases(t, nil, []verdictCase{
		{name: "for good", make: func(s *story) { s.view(20*sec, "c1", "m1", "") }, want: []string{"converge", "forgotten"}},
		{name: "for a while", make: func(s *story) {
			s.view(20*sec, "c1", "m1", "")
			s.view(21*sec, "c1", "m1", "live")
		}},
		{name: "too late to tell", make: func(s *story) {
			s.fault(37*sec, 37*sec, "corrupt", "m1")
			s.view(38*sec, "c1", "m1", "")
		}},
		{name: "suspect is seen", make: func(s *story) { s.view(20*sec, "c1", "m1", "suspect") }, want: []string{"converge"}},
	})

	s := peace()
	s.view(20*sec, "c1", "m1", "")
	s.view(20*sec, "c2", "m1", "")
	claims(t, s, "members_lost_for_good == 1", "false_evictions == 2", "false_suspicions == 0")
}

// This test checks when a healthy member counts as falsely suspected, and when
// a fault excuses it.
func TestSuspicionsAreCounted(t *testing.T) {
	flicker := func(s *story, at time.Duration, state string) {
		s.view(at, "c1", "m1", state)
		s.view(at+100*ms, "c1", "m1", "live")
	}
	s := peace()
	flicker(s, 10*sec, "suspect")
	flicker(s, 12*sec, "unreachable")
	flicker(s, 14*sec, "ejected")
	flicker(s, 16*sec, "")
	claims(t, s, "false_suspicions == 2", "false_evictions == 1", "members_lost_for_good == 0")

	s.fault(11*sec, 12*sec, "pause", "m1")
	claims(t, s, "false_suspicions == 1", "false_evictions == 0")

	s = peace()
	s.crash(10*sec, ms)
	claims(t, s, "false_suspicions == 0", "false_evictions == 0")
}

// This test checks what counts as missing and as dead, second by second, while
// a member joins and is doubted, another leaves, and the observer starts again.
func TestAViewIsRightIfItTakesExactlyTheLiveToBeAlive(t *testing.T) {
	s := time.Second
	view := func(at time.Duration, member, state string) history.View {
		return history.View{At: at, Node: "c", Cluster: "echo", Member: member, State: state}
	}
	h := &history.History{
		End:   30 * s,
		Nodes: []history.Node{{Name: "c", Until: 20 * s}, {Name: "c", From: 21 * s, Until: -1}, {Name: "m", Until: -1}},
		Tenures: []history.Tenure{
			{Cluster: "echo", Node: "m", Member: "A", Asked: 1 * s, From: 2 * s, Leaving: 12 * s, Until: 13 * s},
			{Cluster: "echo", Node: "m", Member: "B", Asked: 4 * s, From: 5 * s, Leaving: -1, Until: -1},
			{Cluster: "echo", Node: "m", Member: "", Asked: 4 * s, From: -1, Leaving: -1, Until: -1, Err: "refused"},
			{Cluster: "other", Node: "m", Member: "X", From: 2 * s, Leaving: -1, Until: -1},
		},
		Views: []history.View{
			view(3*s, "A", "live"), view(6*s, "B", "live"), view(7*s, "B", "suspect"), view(8*s, "B", "unreachable"), view(9*s, "B", "live"),
			view(10*s, "B", "ejected"), view(11*s, "B", "live"),
			view(14*s, "A", "ejected"), view(15*s, "A", "suspect"), view(16*s, "A", ""), view(22*s, "B", "live"),
		},
	}
	all := check.ViewHistories(h)
	require.Len(t, all, 1)
	require.Equal(t, []any{"echo", 2, 2}, []any{all[0].Cluster, all[0].Observers, all[0].Members})
	require.Equal(t, []check.ViewStep{
		{At: 3 * s, Watching: 1, Right: 1},
		{At: 5 * s, Watching: 1, Missing: 1}, // B is there, c does not know
		{At: 6 * s, Watching: 1, Right: 1},
		{At: 7 * s, Watching: 1, Missing: 1, Suspect: 1}, // it doubts that B lives
		{At: 8 * s, Watching: 1, Missing: 1, Unreachable: 1},
		{At: 9 * s, Watching: 1, Right: 1},
		{At: 10 * s, Watching: 1, Right: 1, Ejected: 1}, // it knows that B lives
		{At: 11 * s, Watching: 1, Right: 1},
		{At: 12 * s, Watching: 1, Dead: 1}, // A leaves
		{At: 14 * s, Watching: 1, Dead: 1, Ejected: 1},
		{At: 15 * s, Watching: 1, Right: 1, Suspect: 1}, // it doubts, and is right
		{At: 16 * s, Watching: 1, Right: 1},
		{At: 20 * s}, // c is not there
		{At: 22 * s, Watching: 1, Right: 1},
	}, all[0].Steps)
}

// This test checks that what is judged and what is drawn agree: a verdict
// objects to how a view ends exactly if the last step has a wrong one.
func TestTheVerdictAndTheHistoryOfViewsAgree(t *testing.T) {
	for _, c := range []struct {
		live, dead string   // how one view shows a live member in the end, and a dead one
		want       []string // the checkers that object
	}{
		{live: "live", dead: ""},
		{live: "ejected", dead: "suspect"},
		{live: "live", dead: "unreachable"},
		{live: "suspect", dead: "", want: []string{"converge"}},
		{live: "unreachable", dead: "", want: []string{"converge"}},
		{live: "live", dead: "live", want: []string{"converge", "zombie"}},
		{live: "live", dead: "ejected", want: []string{"converge", "zombie"}},
	} {
		s := peace()
		s.crash(10*sec, ms)
		s.view(20*sec, "c1", "m1", c.live)
		s.view(20*sec, "c1", "m2", c.dead)
		require.Equal(t, c.want, found(s.judge(check.Rules{})), "%+v", c)
		steps := check.ViewHistories(&s.History)[0].Steps
		last := steps[len(steps)-1]
		require.Equal(t, 2, last.Watching)
		require.Equal(t, len(c.want) == 0, last.Right == 2, "%+v", c)
	}
}

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

// This test checks the borders of calm: what lasts disturbs until it is undone
// or everything is healed, a node that is taken away at first, what undoes a
// fault not by itself; and each for a while after that.
func TestItIsNotCalmNearAFault(t *testing.T) {
	h := &history.History{Safety: 60 * sec, End: 70 * sec, Faults: []history.Fault{
		{At: 10 * sec, Until: 12 * sec, Do: "pause"},
		{At: 14 * sec, Until: 14 * sec, Do: "corrupt"},
		{At: 30 * sec, Until: -1, Do: "crash"},
		{At: 40 * sec, Until: 40 * sec, Do: "heal"},
		{At: 50 * sec, Until: -1, Do: "cut"},
	}}
	c := check.NewCalm(h, check.Rules{})
	require.Equal(t, 5*sec, c.After)
	for _, x := range []struct {
		from, until time.Duration
		calm        bool
	}{
		{0, 10 * sec, true},
		{9 * sec, 10*sec + 1, false},
		{18 * sec, 20 * sec, false},
		{19 * sec, 30 * sec, true},
		{20 * sec, 40 * sec, false},
		{34 * sec, 34 * sec, false},
		{35 * sec, 50 * sec, true},
		{64 * sec, 67 * sec, false},
		{65 * sec, 67 * sec, true},
	} {
		require.Equal(t, x.calm, c.Between(x.from, x.until), "%v", x)
	}
	require.Equal(t, 8*sec, check.NewCalm(h, check.LevelRules("net")).After)
}

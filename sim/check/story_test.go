// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// story is a history that tests change.
type story struct{ history.History }

// peace is a run in which everything is as it should be: members m1, m2 and m3
// of cluster echo, callers c1 and c2, ten requests per second for 30 s from
// 1 s on, and probes for 10 s after that.
func peace() *story {
	s := &story{history.History{Start: sec, Safety: 31 * sec, End: 41 * sec}}
	for _, name := range []string{"c1", "c2", "m1", "m2", "m3"} {
		s.Nodes = append(s.Nodes, history.Node{Name: name, Peer: "peer-" + name, From: 100 * ms, Until: -1, Correct: true})
	}
	for _, name := range []string{"m1", "m2", "m3"} {
		s.serve(name, 200*ms)
		s.view(sec, "c1", name, "live")
		s.view(sec, "c2", name, "live")
	}
	for i := range 400 {
		work := "load"
		if i >= 300 {
			work = "probe"
		}
		s.ask(sec+time.Duration(i)*100*ms, fmt.Sprintf("c%d", 1+i%2), i%3, work)
	}
	for at := sec; at <= 41*sec; at += sec {
		for _, n := range s.Nodes {
			s.Samples = append(s.Samples, history.Sample{
				At: at, Node: n.Name, Sent: [4]uint64{uint64(at/sec) * 1000, 7, 8, 9}, Links: 4, Leases: 3,
			})
		}
	}
	return s
}

// serve registers a member, whose id is its node's name, and returns its tenure.
func (s *story) serve(node string, at time.Duration) int {
	s.Tenures = append(s.Tenures, history.Tenure{
		Cluster: "echo", Node: node, Peer: "peer-" + node, Member: node, Asked: at, From: at + 100*ms, Leaving: -1, Until: -1,
	})
	return len(s.Tenures) - 1
}

// ask sends a request that the member of a tenure answers, and returns it.
func (s *story) ask(at time.Duration, caller string, tenure int, work string) *history.Request {
	id := uint64(len(s.Requests) + 1)
	s.Requests = append(s.Requests, history.Request{
		ID: id, Work: work, Caller: caller, Cluster: "echo", Sent: at, Deadline: at + 5*sec, Ended: at + 10*ms,
		Outcomes: 1, Outcome: "reply", Attempts: 1, Member: s.Tenures[tenure].Member,
	})
	s.run(id, tenure, at+4*ms)
	return &s.Requests[id-1]
}

func (s *story) run(request uint64, tenure int, at time.Duration) *history.Run {
	expires := at + 5*sec
	if n := int(request) - 1; n < len(s.Requests) {
		expires = s.Requests[n].Deadline
	}
	s.Runs = append(s.Runs, history.Run{Request: request, Tenure: tenure, Began: at, Ended: at + 2*ms, Expires: expires})
	return &s.Runs[len(s.Runs)-1]
}

// unrun forgets the handlers of a request.
func (s *story) unrun(request uint64) {
	s.Runs = slices.DeleteFunc(s.Runs, func(r history.Run) bool { return r.Request == request })
}

func (s *story) view(at time.Duration, observer, member, state string) {
	s.Views = append(s.Views, history.View{
		At: at, Node: observer, Cluster: "echo", Member: member, Peer: "peer-" + member, State: state,
	})
}

func (s *story) fault(at, until time.Duration, do string, nodes ...string) {
	s.Faults = append(s.Faults, history.Fault{At: at, Until: until, Do: do, Nodes: nodes})
}

// crash ends node m2 at that time, and has its callers know it so much later.
// Requests that it would have answered afterwards go to m1.
func (s *story) crash(at, known time.Duration) {
	s.fault(at, -1, "crash", "m2")
	s.Tenures[1].Leaving, s.Tenures[1].Until = at, at
	s.Nodes[3].Until, s.Nodes[3].How, s.Nodes[3].Correct = at, "crashed", false
	for i := range s.Runs {
		if s.Runs[i].Tenure == 1 && s.Runs[i].Began >= at {
			s.Runs[i].Tenure = 0
			s.Requests[s.Runs[i].Request-1].Member = "m1"
		}
	}
	s.view(at+known, "c1", "m2", "unreachable")
	s.view(at+known, "c2", "m2", "unreachable")
	s.view(at+known+sec, "c1", "m2", "")
	s.view(at+known+sec, "c2", "m2", "")
}

func (s *story) judge(r check.Rules) *check.Verdict { return check.Judge(&s.History, r) }

// found lists the checkers that found something.
func found(v *check.Verdict) []string {
	var out []string
	for name := range v.Counts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// verdictCase is a history made of peace, and the checkers that must object.
type verdictCase struct {
	name  string
	make  func(s *story)
	rules check.Rules
	want  []string
}

func runCases(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := peace()
			c.make(s)
			v := s.judge(c.rules)
			require.ElementsMatch(t, c.want, found(v), "%v", v.Violations)
			require.Equal(t, len(c.want) == 0, v.OK)
			for _, x := range v.Violations {
				require.NotEmpty(t, x.Text)
				require.Positive(t, x.At)
			}
		})
	}
}

// claims checks assertions about a history.
func claims(t *testing.T, s *story, asserts ...string) *check.Verdict {
	t.Helper()
	v := s.judge(check.Rules{Assert: asserts})
	require.Len(t, v.Assertions, len(asserts))
	for _, a := range v.Assertions {
		require.True(t, a.OK, "%s: %s%s", a.Text, a.Value, a.Reason)
	}
	return v
}

// absent checks that nothing could be measured for some metrics.
func absent(t *testing.T, s *story, names ...string) {
	t.Helper()
	v := s.judge(check.Rules{})
	for _, name := range names {
		require.NotContains(t, v.Metrics, name)
	}
}

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

// verdictCase is a story and the checkers that must object.
type verdictCase struct {
	name  string
	make  func(s *story) // changes it; nil = it stays as it is
	rules check.Rules
	want  []string
}

// runCases judges cases, each of which begins with peace and what begin makes of
// it; nil = peace.
func runCases(t *testing.T, begin func(s *story), cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := peace()
			for _, change := range []func(*story){begin, c.make} {
				if change != nil {
					change(s)
				}
			}
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

// survey sends a survey that all members answer, and returns it.
func (s *story) survey(at time.Duration, caller string) *history.Request {
	r := s.ask(at, caller, 0, "survey")
	r.Kind, r.Outcome, r.Member, r.Taken = "survey", "complete", "", 3
	for tenure, member := range []string{"m1", "m2", "m3"} {
		if tenure > 0 {
			s.run(r.ID, tenure, at+4*ms)
		}
		r.Answers = append(r.Answers, history.Answer{Member: member, At: at + 9*ms})
	}
	return r
}

// broadcast sends a broadcast that all members get, and returns it.
func (s *story) broadcast(at time.Duration, caller string) *history.Request {
	r := s.survey(at, caller)
	r.Kind, r.Work, r.Answers, r.Nodes = "broadcast", "broadcast", nil, 3
	return r
}

// push sends a push that the member of a tenure accepts, and handles later.
func (s *story) push(at time.Duration, caller string, tenure int) *history.Request {
	r := s.ask(at, caller, tenure, "push")
	r.Kind, r.Outcome = "push", "accepted"
	run := &s.Runs[len(s.Runs)-1]
	run.Began, run.Ended, run.Expires = at+20*sec, at+20*sec+ms, -1
	return r
}

// subscribe has a node subscribe, and returns the subscription's number.
func (s *story) subscribe(node, pattern string, at time.Duration) int {
	s.Subscriptions = append(s.Subscriptions, history.Subscription{
		Name: "desk", Node: node, Peer: "peer-" + node, Pattern: pattern, Asked: at, From: at + 10*ms, Leaving: -1, Until: -1,
	})
	return len(s.Subscriptions) - 1
}

func (s *story) queue(node, pattern, queue string, at time.Duration) int {
	i := s.subscribe(node, pattern, at)
	s.Subscriptions[i].Queue = queue
	return i
}

// publish has a node publish, and returns the publication's number.
func (s *story) publish(at time.Duration, node, topic string) int {
	s.Publications = append(s.Publications, history.Publication{
		ID: uint64(len(s.Publications)) + 1<<40, Work: "ticks", Publisher: node, Peer: "peer-" + node, Topic: topic, Size: 100,
		Sent: at, Deadline: at + 5*sec, Ended: at + ms, Outcome: "published",
	})
	return len(s.Publications) - 1
}

// deliver has subscriptions get a publication.
func (s *story) deliver(publication int, subscriptions ...int) {
	for _, i := range subscriptions {
		p := s.Publications[publication]
		s.Deliveries = append(s.Deliveries, history.Delivery{Publication: p.ID, Subscription: i, At: p.Sent + 10*ms})
	}
}

// copy has a node send a copy of a publication to another.
func (s *story) copy(publication int, from, to string) {
	p := s.Publications[publication]
	s.Copies = append(s.Copies, history.Copy{Publication: p.ID, From: from, To: to, At: p.Sent + ms, Bytes: p.Size + 50})
}

// gap tells a subscription of missing messages of a node.
func (s *story) gap(subscription int, node string, missed uint64, exact bool) {
	peer := ""
	if node != "" {
		peer = "peer-" + node
	}
	s.Gaps = append(s.Gaps, history.Gap{Subscription: subscription, At: 10 * sec, Peer: peer, Missed: missed, Exact: exact, Reason: "lost"})
}

// tunnel opens a tunnel to the member of a tenure, carries ten messages of a
// kilobyte each way, and returns it.
func (s *story) tunnel(at time.Duration, caller string, tenure int) *history.Tunnel {
	flow := history.Flow{Tried: 10, Sent: 10, Closed: true, Received: 10, End: true, Ahead: 3000}
	s.Tunnels = append(s.Tunnels, history.Tunnel{
		ID: uint64(len(s.Tunnels)) + 1<<41, Work: "pipe", Caller: caller, Cluster: "echo", Size: 1000, Messages: 10,
		Sent: at, Opened: at + 10*ms, Deadline: at + 5*sec, Ended: at + sec + 10*ms, Outcome: "done",
		Member: s.Tenures[tenure].Member, Forth: flow, Back: flow,
		Served: []history.Serving{{Tenure: tenure, Began: at + 5*ms, Ended: at + sec, Clean: true, Peer: "peer-" + caller}},
	})
	return &s.Tunnels[len(s.Tunnels)-1]
}

// besideM2 makes m3 a client of m2, which is killed at 10 s and back at 11 s, and
// a market of which m3 misses what was published at 10 s, just before.
func besideM2(s *story) {
	market(s)
	s.Nodes[4].Relay, s.Nodes[4].Peer = "m2", "peer-m2"
	for i := range s.Views {
		if s.Views[i].Member == "m3" {
			s.Views[i].Peer = "peer-m2"
		}
	}
	s.crash(10*sec+5*ms, ms)
	s.Faults[len(s.Faults)-1].Until = 11 * sec
	s.Nodes = append(s.Nodes, history.Node{Name: "m2", Peer: "peer-m2", From: 11 * sec, Until: -1, Correct: true})
	t := &s.Tenures[2]
	t.Leaving, t.Until = 10*sec+5*ms, 11*sec+20*ms
	s.view(10*sec+6*ms, "c1", "m3", "")
	s.view(10*sec+6*ms, "c2", "m3", "")
	s.Tenures = append(s.Tenures, history.Tenure{
		Cluster: "echo", Node: "m3", Peer: "peer-m2", Member: "m3-again", Asked: 10*sec + 5*ms, From: 11*sec + 20*ms, Leaving: -1, Until: -1,
	})
	for i := range s.Runs {
		r := &s.Requests[s.Runs[i].Request-1]
		if s.Runs[i].Tenure == 2 && r.Sent > 10*sec {
			s.Runs[i].Tenure, r.Member = len(s.Tenures)-1, "m3-again"
		}
		if s.Runs[i].Tenure == 1 && r.Sent > 10*sec {
			s.Runs[i].Tenure, r.Member = 0, "m1"
		}
	}
	for _, c := range []string{"c1", "c2"} {
		s.view(11*sec+30*ms, c, "m3-again", "live")
		s.Views[len(s.Views)-1].Peer = "peer-m2"
	}
	s.undeliver(1, 5)
}

// unknown tells m3's subscription that nobody knows how many it has missed.
func unknown(s *story, at time.Duration) {
	s.Gaps = append(s.Gaps, history.Gap{Subscription: 1, At: at, Reason: "relay"})
}

// This test checks what is demanded of clients whose relay dies: what their
// subscriptions miss is told, and only what the relay took with it may be
// missing; their members are what they were, under another id.
func TestClientsAreJudgedWithTheirRelays(t *testing.T) {
	runCases(t, besideM2, []verdictCase{
		{name: "a gap is told when the relay is gone", make: func(s *story) { unknown(s, 10*sec+50*ms) }},
		{name: "a gap is told when it is back", make: func(s *story) { unknown(s, 11*sec+20*ms) }},
		{name: "nothing is told", want: []string{"delivered"}},
		{name: "a gap was told before", make: func(s *story) { unknown(s, 9*sec) }, want: []string{"delivered"}},
		{name: "more is missing, which was published long after", make: func(s *story) {
			unknown(s, 11*sec+20*ms)
			s.deliver(s.publish(20*sec, "c1", "a.b"), 0)
		}, want: []string{"delivered"}},
		{name: "more is missing, from when not everybody knew again", make: func(s *story) {
			unknown(s, 11*sec+20*ms)
			s.deliver(s.publish(12*sec, "c1", "a.c"), 0)
		}},
		{name: "its member answers by the id that it has now", make: func(s *story) {
			unknown(s, 10*sec+50*ms)
			s.ask(11*sec+20*ms, "c1", 2, "load").Member = "m3-again"
			s.Runs[len(s.Runs)-1].Began = 11*sec + 20*ms
		}},
		{name: "another client's member answers", make: func(s *story) {
			unknown(s, 10*sec+50*ms)
			s.ask(12*sec, "c1", 3, "load").Member = "m1"
		}, want: []string{"belongs"}},
	})
	runCases(t, market, []verdictCase{
		{name: "a node is told the same, and has no relay", make: func(s *story) {
			s.undeliver(1, 5)
			unknown(s, 11*sec)
		}, want: []string{"delivered"}},
	})
}

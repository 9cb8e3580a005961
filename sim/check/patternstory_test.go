// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

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
	s.Gaps = append(s.Gaps, history.Gap{Subscription: subscription, At: 20 * sec, Peer: peer, Missed: missed, Exact: exact, Reason: "lost"})
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

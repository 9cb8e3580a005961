// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
	"github.com/arke-mesh/arke/sim/scenario"
)

// story makes up a run that looks like a real one: members that come and go,
// views that follow, latencies that suffer near faults.
type story struct {
	rand     *rand.Rand
	h        history.History
	members  []string
	callers  []string
	others   []string
	duration time.Duration
	rate     int
	away     map[string][][2]time.Duration // when a node is not there, or not reachable
}

const settle = 10 * time.Second

func newStory(members, callers, others, rate int, duration time.Duration) *story {
	s := &story{rand: rand.New(rand.NewPCG(7, 7)), duration: duration, rate: rate, away: map[string][][2]time.Duration{}}
	group := func(name string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(name, i+1))
		}
		return all
	}
	s.members, s.callers, s.others = group("m", members), group("c", callers), group("a", others)
	s.h.Start = 1500 * time.Millisecond
	s.h.Safety = duration
	s.h.End = duration + settle
	return s
}

func (s *story) names() []string { return slices.Concat(s.others, s.callers, s.members) }

// fault adds a fault; until < 0 means that it is never undone.
func (s *story) fault(do string, at, until time.Duration, text string, nodes ...string) {
	s.h.Faults = append(s.h.Faults, history.Fault{At: at, Until: until, Do: do, Nodes: nodes, Text: text})
	end := until
	if end < 0 {
		end = s.h.End
	}
	if do != "slow" && do != "skew" {
		for _, n := range nodes {
			s.away[n] = append(s.away[n], [2]time.Duration{at, end})
		}
	}
}

// tell fills in everything that follows from the faults.
func (s *story) tell() *history.History {
	slices.SortStableFunc(s.h.Faults, func(a, b history.Fault) int { return cmp.Compare(a.At, b.At) })
	s.lives()
	s.asked()
	s.views()
	s.samples()
	return &s.h
}

// lives writes the nodes' lives and the members' registrations.
func (s *story) lives() {
	hows := map[string]string{"crash": "crashed", "silence": "silenced", "stop": "stopped"}
	for i, name := range s.names() {
		from := time.Duration(i) * time.Second / time.Duration(len(s.names()))
		for _, f := range s.h.Faults {
			if hows[f.Do] == "" || !slices.Contains(f.Nodes, name) {
				continue
			}
			s.life(name, from, f.At, hows[f.Do])
			if from = f.Until; from < 0 {
				break
			}
		}
		if from >= 0 {
			s.life(name, from, -1, "")
		}
	}
}

func (s *story) life(name string, from, until time.Duration, how string) {
	zone := "east"
	if name[len(name)-1]%2 == 0 {
		zone = "west"
	}
	s.h.Nodes = append(s.h.Nodes, history.Node{Name: name, Zone: zone, Peer: "peer-" + name, From: from, Until: until, How: how, Correct: until < 0})
	if name[0] == 'm' {
		s.h.Tenures = append(s.h.Tenures, history.Tenure{
			Cluster: "echo", Node: name, Peer: "peer-" + name, Member: fmt.Sprint(name, "/", len(s.h.Tenures)),
			Asked: from + 10*time.Millisecond, From: from + 40*time.Millisecond, Leaving: until, Until: until,
		})
	}
}

// asked writes requests and runs.
func (s *story) asked() {
	n := int(s.duration.Seconds() * float64(s.rate))
	for i := range n {
		at := s.h.Start + time.Duration(float64(i)/float64(n)*float64(s.duration-s.h.Start))
		work := "steady"
		if i%10 == 0 {
			work = "slow reads"
		}
		s.request(uint64(i+1), work, at)
	}
	for i := range 200 {
		s.request(uint64(n+i+1), "probe", s.h.Safety+time.Duration(i)*settle/200)
	}
}

func (s *story) request(id uint64, work string, at time.Duration) {
	caller := s.callers[s.rand.IntN(len(s.callers))]
	tenure := s.rand.IntN(len(s.h.Tenures))
	for range 20 {
		if t := s.h.Tenures[tenure]; t.From <= at && (t.Until < 0 || t.Until+50*time.Millisecond > at) {
			break
		}
		tenure = s.rand.IntN(len(s.h.Tenures))
	}
	t := s.h.Tenures[tenure]
	took := time.Duration(math.Exp(s.rand.NormFloat64()*0.35) * float64(11*time.Millisecond))
	if work == "slow reads" {
		took += 40 * time.Millisecond
	}
	q := history.Request{
		ID: id, Work: work, Caller: caller, Cluster: "echo", Idempotent: true, Sent: at, Deadline: at + 5*time.Second,
		Outcomes: 1, Outcome: "reply", Attempts: 1, Member: t.Member,
	}
	switch {
	case s.near(t.Node, at, 0) && s.rand.IntN(3) == 0:
		q.Outcome, took = "deadline", 5*time.Second
	case s.near(t.Node, at, 0) && s.rand.IntN(4) == 0:
		q.Outcome, took = "interrupted", 300*time.Millisecond
	case s.near(t.Node, at, time.Second):
		took += time.Duration(s.rand.IntN(900)) * time.Millisecond
		q.Attempts = 2
	}
	for _, f := range s.h.Faults {
		if f.Do == "slow" && f.At <= at && at <= f.Until && slices.Contains(f.Nodes, t.Node) {
			took *= 10
		}
	}
	q.Ended = at + took
	s.h.Requests = append(s.h.Requests, q)
	s.h.Runs = append(s.h.Runs, history.Run{Request: id, Tenure: tenure, Began: at + took/3, Ended: at + took*2/3, Expires: -1})
}

func (s *story) near(node string, at, within time.Duration) bool {
	for _, w := range s.away[node] {
		if w[0] <= at && at <= w[0]+500*time.Millisecond+within {
			return true
		}
	}
	return false
}

// views lets every caller notice members a little late.
func (s *story) views() {
	see := func(at time.Duration, caller string, t history.Tenure, state string) {
		s.h.Views = append(s.h.Views, history.View{At: at, Node: caller, Cluster: "echo", Member: t.Member, Peer: t.Peer, State: state})
	}
	late := func(most int) time.Duration { return time.Duration(20+s.rand.IntN(most)) * time.Millisecond }
	for _, t := range s.h.Tenures {
		for _, c := range s.callers {
			see(max(t.From, s.h.Start-time.Second)+late(400), c, t, "live")
			if t.Until >= 0 {
				see(t.Until+late(500), c, t, "suspect")
				see(t.Until+500*time.Millisecond+late(900), c, t, "")
			}
			for _, w := range s.away[t.Node] {
				if t.From < w[0] && t.Until < 0 {
					see(w[0]+late(800), c, t, "unreachable")
					see(w[1]+late(1500), c, t, "live")
				}
			}
		}
	}
	slices.SortStableFunc(s.h.Views, func(a, b history.View) int { return cmp.Compare(a.At, b.At) })
}

// samples has every node count bytes once a second.
func (s *story) samples() {
	for _, n := range s.h.Nodes {
		until := n.Until
		if until < 0 {
			until = s.h.End
		}
		var sent [4]uint64
		busy := uint64(200)
		if n.Name[0] != 'a' {
			busy = uint64(s.rate * 180 / len(s.members))
		}
		for at := n.From; at < until; at += time.Second {
			sent[0] += 700 + uint64(s.rand.IntN(500))
			if at > s.h.Start && at < s.h.Safety {
				sent[1] += busy + s.rand.Uint64N(busy)
			}
			s.h.Samples = append(s.h.Samples, history.Sample{At: at, Node: n.Name, Sent: sent})
		}
	}
	slices.SortStableFunc(s.h.Samples, func(a, b history.Sample) int { return cmp.Compare(a.At, b.At) })
}

// eventful is a run of 13 nodes and a minute in which much goes wrong.
func eventful() *history.History {
	s := newStory(5, 3, 5, 400, time.Minute)
	s.fault("crash", 10*time.Second, 18*time.Second, "crash m1", "m1")
	s.fault("pause", 22*time.Second, 24*time.Second, "pause m2", "m2")
	s.fault("cut", 30*time.Second, 40*time.Second, "cut a1,m4 → c1,c2", "a1", "m4", "c1", "c2")
	s.fault("silence", 44*time.Second, -1, "silence m3", "m3")
	s.fault("slow", 48*time.Second, 53*time.Second, "slow m5 ×10", "m5")
	s.fault("skew", 49*time.Second, 60*time.Second, "skew a2 1m0s 200 ppm", "a2")
	s.fault("corrupt", 56*time.Second, 56*time.Second, "corrupt c3 → m2", "c3", "m2")
	s.listens("desk", "prices.>", "")
	s.listens("workers of the night", "jobs.*.urgent", "night")
	s.tunnels("pipe", 8*time.Second, 200_000)
	s.tunnels("backup of everything", 3*time.Second, 9_000_000)
	return s.tell()
}

// churning is a run of many nodes that come and go.
func churning(nodes, requests int) *history.History {
	members := nodes / 2
	s := newStory(members, nodes/10, nodes-members-nodes/10, requests/60, time.Minute)
	for i := range nodes / 10 {
		at := 5*time.Second + time.Duration(i)*50*time.Second/time.Duration(nodes/10)
		name := s.members[i*7919%members]
		if len(s.away[name]) > 0 {
			continue
		}
		do := []string{"crash", "silence", "stop"}[i%3]
		s.fault(do, at, at+4*time.Second, do+" "+name, name)
	}
	if requests < 100_000 { // a large one is large enough
		for i := range 10 {
			s.listens(fmt.Sprint("group", i+1), "news.>", "")
			s.tunnels(fmt.Sprint("work", i+1), time.Second, 1000)
		}
	}
	return s.tell()
}

// verdictOf makes up a verdict; with broken, one that fails.
func verdictOf(h *history.History, broken bool) *check.Verdict {
	v := &check.Verdict{OK: !broken, Metrics: map[string]check.Metric{
		"requests":                 {Value: float64(len(h.Requests)), Unit: check.Count},
		"lost":                     {Value: 0, Unit: check.Count},
		"success":                  {Value: 99.987, Unit: check.Percent},
		"detection_p50":            {Value: 712.5, Unit: check.Millis, Samples: 6},
		"detection_p90":            {Value: 1102, Unit: check.Millis, Samples: 6},
		"detection_p99":            {Value: 1180, Unit: check.Millis, Samples: 6},
		"detection_max":            {Value: 1180, Unit: check.Millis, Samples: 6},
		"reroute_p50":              {Value: 12.25, Unit: check.Millis, Samples: 9},
		"reroute_p99":              {Value: 83.1, Unit: check.Millis, Samples: 9},
		"reroute_max":              {Value: 83.1, Unit: check.Millis, Samples: 9},
		"convergence_p50":          {Value: 910, Unit: check.Millis, Samples: 7},
		"convergence_max":          {Value: 1620, Unit: check.Millis, Samples: 7},
		"control_bytes_per_node_s": {Value: 961, Unit: check.BytesSec},
	}}
	v.Assertions = []check.Result{
		{Text: "lost == 0", Kind: check.Assert, Value: "0", OK: true},
		{Text: "reroute_p99 < 100ms", Kind: check.Assert, Value: "83.1 ms", OK: true},
		{Text: "control_bytes_per_node_s < 2KB", Kind: check.Assert, Value: "961 bytes/s", OK: true},
		{Text: "detections >= 1", Kind: check.Sometimes, Value: "6", OK: true},
	}
	if broken {
		v.Assertions = append(v.Assertions,
			check.Result{Text: "detection_p99 < 1.1s", Kind: check.Assert, Value: "1.18 s"},
			check.Result{Text: "retried > 0", Kind: check.Sometimes, Reason: "nothing was retried"})
		v.Violations = []check.Violation{
			{Checker: "zombie", At: 51200 * time.Millisecond, Text: `c1 shows member m3/2 of "echo" as live 5.2 s after it was gone`},
			{Checker: "once", At: 30120 * time.Millisecond, Text: "request 60213 was handled by m4/3 and again by m2/1 <although it is not idempotent>"},
		}
	}
	return v
}

func infoOf(h *history.History) report.Info {
	return report.Info{
		Name: "member-crash", File: "member-crash", Level: "sim", Seed: 42, Commit: "c5d80f1a2b", GoVersion: "go1.26.8", Host: "linux/amd64",
		TraceHash: "9f3a61c07be2d415", Checkpoints: []uint64{1, 0xabc}, Events: 2_481_277,
		Virtual: h.End, Real: 14300 * time.Millisecond, MemoryPeak: 312_000_000, Started: true,
	}
}

// reportOf makes up the report of a run; with broken, one that fails.
func reportOf(h *history.History, broken bool) *report.Report {
	return report.New(infoOf(h), scenarioOf(), h, verdictOf(h, broken))
}

func scenarioOf() scenario.Scenario {
	return scenario.Scenario{
		Name: "member-crash", Seed: 42, Duration: scenario.Duration(time.Minute),
		About: "One of five members dies under load, comes back, and later another one falls silent for good. No idempotent request may be lost.",
	}
}

// listens adds a group of subscriptions of every member, to which the first
// caller publishes ten times a second; who was away is told of it later.
func (s *story) listens(name, pattern, queue string) {
	first := len(s.h.Subscriptions)
	for _, m := range s.members {
		s.h.Subscriptions = append(s.h.Subscriptions, history.Subscription{
			Name: name, Node: m, Pattern: pattern, Queue: queue, From: s.h.Start, Leaving: -1, Until: -1,
		})
	}
	for at := s.h.Start; at < s.h.Safety; at += 100 * time.Millisecond {
		id := uint64(len(s.h.Publications) + 1)
		s.h.Publications = append(s.h.Publications, history.Publication{ID: id, Publisher: s.callers[0], Sent: at, Ended: at, Outcome: "published"})
		for i, m := range s.members {
			if s.near(m, at, 0) {
				s.h.Gaps = append(s.h.Gaps, history.Gap{Subscription: first + i, At: at + 700*time.Millisecond, Missed: 1, Exact: true, Reason: "lost"})
				continue
			}
			took := time.Duration(math.Exp(s.rand.NormFloat64()*0.5) * float64(9*time.Millisecond))
			s.h.Deliveries = append(s.h.Deliveries, history.Delivery{Publication: id, Subscription: first + i, At: at + took})
		}
	}
	slices.SortStableFunc(s.h.Deliveries, func(a, b history.Delivery) int { return cmp.Compare(a.At, b.At) })
}

// tunnels opens a tunnel each second, of which those that begin near a fault of
// the first member break, and one is refused.
func (s *story) tunnels(work string, lasts time.Duration, rate int64) {
	for at := s.h.Start; at < s.h.Safety; at += time.Second {
		t := history.Tunnel{Work: work, Caller: s.callers[0], Sent: at, Opened: at + 10*time.Millisecond, Ended: at + lasts, Outcome: "done"}
		if s.near(s.members[0], at, 2*time.Second) {
			t.Ended, t.Outcome = at+lasts/2, "interrupted"
		}
		if len(s.h.Tunnels) == 3 {
			t.Opened, t.Ended, t.Outcome = -1, at+time.Millisecond, "unreachable"
		}
		s.h.Tunnels = append(s.h.Tunnels, t)
	}
	for at := s.h.Start.Truncate(history.CarriedEvery); at < s.h.Safety; at += history.CarriedEvery {
		s.h.Carried = append(s.h.Carried, history.Carried{At: at, Work: work, Forth: rate + s.rand.Int64N(rate), Back: rate / 3})
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// nonsense makes histories in which nothing fits together.
type nonsense struct{ *rand.Rand }

func (n nonsense) time() time.Duration {
	switch n.IntN(20) {
	case 0:
		return -1
	case 1:
		return math.MaxInt64
	case 2:
		return math.MinInt64
	default:
		return time.Duration(n.IntN(20)) * sec
	}
}

func (n nonsense) pick(of ...string) string { return of[n.IntN(len(of))] }

func (n nonsense) node() string { return n.pick("a", "b", "c", "d", "") }

func (n nonsense) cluster() string { return n.pick("echo", "echo", "geo") }

func (n nonsense) member() string { return n.pick("1", "2", "3", "4", "") }

func (n nonsense) work() string { return n.pick("load", "probe") }

func (n nonsense) history() *history.History {
	h := &history.History{Start: n.time(), Safety: n.time(), End: n.time()}
	for range n.IntN(8) {
		h.Nodes = append(h.Nodes, history.Node{
			Name: n.node(), Key: n.pick("", "", "", "k"), From: n.time(), Until: n.time(), Correct: n.IntN(2) == 0,
		})
	}
	for range n.IntN(12) {
		h.Requests = append(h.Requests, history.Request{
			ID: n.Uint64N(12), Work: n.work(), Caller: n.node(), Cluster: n.cluster(), Idempotent: n.IntN(2) == 0,
			Sent: n.time(), Deadline: n.time(), Ended: n.time(), Outcomes: n.IntN(3) - 1, MaybeRan: n.IntN(2) == 0,
			Outcome:  n.pick("reply", "refused", "no_members", "deadline", "interrupted", "wrong_reply", "", "x"),
			Attempts: n.IntN(4) - 1, Member: n.member(), Lost: n.IntN(8) == 0,
		})
		h.Runs = append(h.Runs, history.Run{Request: n.Uint64N(12), Tenure: n.IntN(10) - 1, Began: n.time(), Ended: n.time(), Expires: n.time()})
	}
	for range n.IntN(8) {
		h.Tenures = append(h.Tenures, history.Tenure{
			Cluster: n.cluster(), Node: n.node(), Peer: n.node(), Member: n.member(),
			Asked: n.time(), From: n.time(), Leaving: n.time(), Until: n.time(),
		})
	}
	n.disturb(h)
	n.patterns(h)
	n.federate(h)
	return h
}

// federate makes some nodes gateways, and has some things cross.
func (n nonsense) federate(h *history.History) {
	for i := range h.Nodes {
		h.Nodes[i].Network = n.pick("", "us", "eu")
		if n.IntN(3) == 0 {
			h.Nodes[i].Gateway = map[string]string{n.pick("us", "eu"): n.node(), n.pick("us", "asia"): n.node()}
		}
	}
	for range n.IntN(5) {
		h.Crossings = append(h.Crossings, history.Crossing{
			Gateway: n.node(), From: n.pick("us", "eu", "asia"), To: n.pick("us", "eu", "asia"), Cluster: n.cluster(), As: n.cluster(), Transit: n.IntN(2) == 0,
		})
	}
	for range n.IntN(12) {
		x := history.Hop{Request: n.Uint64N(12), From: n.node(), To: n.node(), At: n.time(), Network: n.pick("us", "eu", "asia", "")}
		for range n.IntN(4) {
			x.Passed = append(x.Passed, n.pick("us", "eu", "asia", ""))
		}
		h.Hops = append(h.Hops, x)
	}
	for i := range h.Views {
		h.Views[i].Network = n.pick("", "", "us", "eu")
	}
	for i := range h.Requests {
		if n.IntN(5) == 0 {
			h.Requests[i].Cluster += n.pick("@us", "@eu", "@")
		}
	}
}

// patterns adds what is not requests, and makes some requests something else.
func (n nonsense) patterns(h *history.History) {
	for i := range h.Requests {
		r := &h.Requests[i]
		r.Kind, r.Taken, r.Nodes = n.pick("", "push", "survey", "broadcast"), n.IntN(4)-1, n.IntN(4)-1
		r.Outcome = n.pick(r.Outcome, "accepted", "complete", "partial")
		for range n.IntN(3) {
			r.Answers = append(r.Answers, history.Answer{Member: n.member(), At: n.time(), Wrong: n.IntN(5) == 0})
			r.Missing = append(r.Missing, history.Missing{Member: n.member()})
		}
	}
	for range n.IntN(8) {
		h.Subscriptions = append(h.Subscriptions, history.Subscription{
			Name: n.pick("x", "y"), Node: n.node(), Peer: n.node(), Pattern: n.pick("a.>", ">", "*", "a.*", "", ".", "a"), Queue: n.pick("", "", "q"),
			NoEcho: n.IntN(3) == 0, Slow: n.IntN(3) == 0, Asked: n.time(), From: n.time(), Leaving: n.time(), Until: n.time(),
		})
		h.Publications = append(h.Publications, history.Publication{
			ID: n.Uint64N(9), Work: n.work(), Publisher: n.node(), Peer: n.node(), Topic: n.pick("a", "a.b", "b", ""), Size: n.IntN(9) - 1,
			Sent: n.time(), Deadline: n.time(), Ended: n.time(), Outcome: n.pick("published", "published", "deadline", ""), Lost: n.IntN(5) == 0,
		})
	}
	for range n.IntN(20) {
		h.Deliveries = append(h.Deliveries, history.Delivery{Publication: n.Uint64N(12), Subscription: n.IntN(10) - 1, At: n.time(), Wrong: n.pick("", "", "w")})
		h.Gaps = append(h.Gaps, history.Gap{
			Subscription: n.IntN(10) - 1, At: n.time(), Peer: n.node(), Missed: n.Uint64N(9), Exact: n.IntN(2) == 0, Reason: n.pick("slow", "lost", "x"),
		})
	}
	for range n.IntN(4) {
		x := history.Tunnel{
			ID: n.Uint64(), Work: n.work(), Caller: n.node(), Cluster: n.cluster(), Size: n.IntN(9) - 1, Sent: n.time(), Opened: n.time(),
			Deadline: n.time(), Ended: n.time(), Outcome: n.pick("done", "reset", ""), Member: n.member(), Lost: n.IntN(5) == 0,
			Forth: history.Flow{Tried: n.IntN(5), Sent: n.IntN(5), Received: n.IntN(5), End: n.IntN(2) == 0, Ahead: int64(n.IntN(9)) - 1},
		}
		for range n.IntN(3) {
			x.Served = append(x.Served, history.Serving{Tenure: n.IntN(10) - 1, Began: n.time(), Ended: n.time()})
		}
		h.Tunnels = append(h.Tunnels, x)
	}
}

func (n nonsense) disturb(h *history.History) {
	for range n.IntN(8) {
		f := history.Fault{At: n.time(), Until: n.time(), Do: n.pick(
			"crash", "silence", "stop", "restart", "start", "cut", "mend", "pause", "slow", "skew", "router", "heal", "degrade", "x",
		)}
		for range n.IntN(3) {
			f.Nodes = append(f.Nodes, n.node())
		}
		if n.IntN(3) == 0 {
			f.Between = [][]string{{n.node()}, nil, {n.node()}}
		}
		h.Faults = append(h.Faults, f)
	}
	for range n.IntN(20) {
		h.Views = append(h.Views, history.View{
			At: n.time(), Node: n.node(), Cluster: n.cluster(), Member: n.member(), Peer: n.node(),
			State: n.pick("live", "live", "suspect", "ejected", "unreachable", "", "x"),
		})
		h.Samples = append(h.Samples, history.Sample{
			At: n.time(), Node: n.node(), Sent: [4]uint64{n.Uint64()}, Queued: [4]uint64{0, n.Uint64()},
			Waiting: n.IntN(10) - 1, Running: n.IntN(100), Links: n.IntN(9) - 2,
		})
	}
}

// This test checks that no history, however absurd, makes Judge panic, that the
// verdict can be written as JSON, and that it is always the same one.
func TestRandomHistoriesAreJudgedTheSameTwice(t *testing.T) {
	for seed := range uint64(600) {
		h := nonsense{rand.New(rand.NewPCG(seed, 1))}.history()
		r := check.Rules{Assert: []string{"lost == 0"}, Converge: time.Duration(seed%3) * sec}
		first, err := json.Marshal(check.Judge(h, r))
		require.NoError(t, err, "seed %d", seed)
		second, err := json.Marshal(check.Judge(h, r))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second), "seed %d", seed)
	}
}

// This test checks that violations come in order, and not without bound.
func TestViolationsAreOrderedAndBounded(t *testing.T) {
	s := peace()
	for i := range s.Requests {
		s.Requests[i].Outcomes = 2
	}
	s.unrun(20)
	v := s.judge(check.Rules{})
	require.Len(t, v.Violations, 101)
	require.Equal(t, map[string]int{"outcome": 400, "belongs": 1}, v.Counts)
	for i := range v.Violations[1:] {
		require.LessOrEqual(t, v.Violations[i].At, v.Violations[i+1].At)
	}
	require.Equal(t, s.Requests[0].Ended, v.Violations[0].At)
	var names []string
	for _, c := range check.Checkers() {
		require.NotEmpty(t, c.Promise)
		names = append(names, c.Name)
	}
	require.Contains(t, names, v.Violations[0].Checker)
}

// FuzzJudge feeds histories as JSON.
func FuzzJudge(f *testing.F) {
	for seed := range uint64(5) {
		data, err := json.Marshal(nonsense{rand.New(rand.NewPCG(seed, 2))}.history())
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		var h history.History
		if json.Unmarshal(data, &h) == nil {
			check.Judge(&h, check.Rules{})
		}
	})
}

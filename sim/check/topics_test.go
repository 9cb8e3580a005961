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

// market is two subscriptions to a.> on m1 and m3, and ten publications of c1
// that both get, one each second from 5 s on.
func market(s *story) {
	s.subscribe("m1", "a.>", 0)
	s.subscribe("m3", "a.>", 0)
	for i := range 10 {
		s.deliver(s.publish(5*sec+time.Duration(i)*sec, "c1", "a.b"), 0, 1)
	}
}

// shut has node m2 leave in good order.
func (s *story) shut(at time.Duration) {
	s.crash(at, ms)
	s.Faults[len(s.Faults)-1].Do = "stop"
	s.Nodes[3].How = "stopped"
}

// undeliver forgets what a subscription got from a place in its list on.
func (s *story) undeliver(subscription, publication int) {
	for i, d := range s.Deliveries {
		if d.Subscription == subscription && d.Publication == s.Publications[publication].ID {
			s.Deliveries = append(s.Deliveries[:i], s.Deliveries[i+1:]...)
			return
		}
	}
}

// This test checks that delivered + reported = sent, no more and no less, and
// whom nothing can be demanded of.
func TestWhatIsPublishedIsDeliveredOrReported(t *testing.T) {
	runCases(t, market, []verdictCase{
		{name: "everything"},
		{name: "the subscription had just begun", make: func(s *story) {
			s.Subscriptions[1].Asked, s.Subscriptions[1].From = 4*sec, 4*sec+10*ms
			s.undeliver(1, 0)
		}},
		{name: "the subscription had begun long before", make: func(s *story) {
			s.Subscriptions[1].Asked, s.Subscriptions[1].From = 2*sec, 2*sec+10*ms
			s.undeliver(1, 0)
		}, want: []string{"delivered"}},
		{name: "the subscription ended", make: func(s *story) {
			s.Subscriptions[1].Leaving, s.Subscriptions[1].Until = 15*sec, 15*sec
			s.undeliver(1, 9)
		}},
		{name: "the subscription failed", make: func(s *story) {
			s.Subscriptions[1].From = -1
			s.undeliver(1, 9)
		}},
		{name: "without echo", make: func(s *story) {
			s.Subscriptions[1].Node, s.Subscriptions[1].Peer, s.Subscriptions[1].NoEcho = "c1", "peer-c1", true
			for i := range 10 {
				s.undeliver(1, i)
			}
		}},
	})
	lacking := func(s *story) {
		market(s)
		s.undeliver(1, 4)
	}
	runCases(t, lacking, []verdictCase{
		{name: "one is missing", want: []string{"delivered"}},
		{name: "one is missing and reported", make: func(s *story) { s.gap(1, "c1", 1, true) }},
		{name: "reported to another", make: func(s *story) { s.gap(0, "c1", 1, false) }, want: []string{"delivered"}},
		{name: "reported of another publisher", make: func(s *story) { s.gap(1, "c2", 1, false) }, want: []string{"delivered"}},
		{name: "reported of several publishers", make: func(s *story) { s.gap(1, "", 1, true) }},
		{name: "reported twice", make: func(s *story) { s.gap(1, "c1", 2, true) }, want: []string{"delivered"}},
		{name: "reported as at most two", make: func(s *story) { s.gap(1, "c1", 2, false) }},
		{name: "one of the two was cut off", make: func(s *story) { s.fault(8*sec, 9*sec, "cut", "m3") }, want: []string{"delivered"}},
		{name: "one of the two was cut off, and it is reported", make: func(s *story) {
			s.fault(8*sec, 9*sec, "cut", "m3")
			s.gap(1, "c1", 1, true)
		}},
		{name: "one of the two was paused, and nobody knows how many are missing", make: func(s *story) {
			s.fault(8*sec, 9*sec, "pause", "m3")
			s.gap(1, "c1", 0, false)
		}},
		{name: "reported in another place", make: func(s *story) {
			s.gap(1, "c1", 1, true)
			s.Gaps[0].At = 8 * sec
		}, want: []string{"delivered"}},
		{name: "a larger gap in another place does not make up for it", make: func(s *story) {
			s.fault(7*sec, 9*sec, "pause", "m3")
			s.gap(1, "c1", 5, false)
			s.Gaps[0].At = 8 * sec
		}, want: []string{"delivered"}},
		{name: "at most fewer than are missing", make: func(s *story) {
			s.fault(7*sec, 9*sec, "pause", "m3")
			s.undeliver(1, 3)
			s.gap(1, "c1", 1, false)
		}, want: []string{"delivered"}},
		{name: "a third one was cut off", make: func(s *story) { s.fault(8*sec, 9*sec, "cut", "m2") }, want: []string{"delivered"}},
		{name: "it was not published", make: func(s *story) { s.Publications[4].Outcome = "deadline" }},
	})
	ofM2 := func(s *story) { // what m2 published at 11 s is missing
		market(s)
		s.Publications[6].Publisher, s.Publications[6].Peer = "m2", "peer-m2"
		s.undeliver(1, 6)
	}
	runCases(t, ofM2, []verdictCase{
		{name: "the publisher died just after", make: func(s *story) { s.crash(12*sec, ms) }},
		{name: "the publisher shut down just after", make: func(s *story) { s.shut(12 * sec) }, want: []string{"delivered"}},
		{name: "the publisher shut down just after, and could not reach it any more", make: func(s *story) {
			s.shut(12 * sec)
			s.fault(11500*ms, 13*sec, "cut", "m2")
		}},
		{name: "the publisher shut down after it could reach it again", make: func(s *story) {
			s.shut(20 * sec)
			s.fault(11500*ms, 13*sec, "cut", "c2")
		}, want: []string{"delivered"}},
	})
}

// This test checks that nobody gets anything twice, out of order, or that he
// did not ask for.
func TestDeliveriesAreOnceInOrderAndRight(t *testing.T) {
	runCases(t, market, []verdictCase{
		{name: "twice", make: func(s *story) { s.deliver(9, 1) }, want: []string{"twice"}},
		{name: "not asked for", make: func(s *story) { s.Publications[4].Topic = "b" }, want: []string{"astray"}},
		{name: "its own", make: func(s *story) {
			s.Subscriptions[1].Node, s.Subscriptions[1].Peer, s.Subscriptions[1].NoEcho = "c1", "peer-c1", true
		}, want: []string{"astray"}},
		{name: "before it was published", make: func(s *story) { s.Deliveries[0].At = 4 * sec }, want: []string{"astray"}},
		{name: "told wrongly", make: func(s *story) { s.Deliveries[0].Wrong = "a.x from y" }, want: []string{"astray"}},
		{name: "published by nobody", make: func(s *story) { s.Deliveries[0].Publication = 7 }, want: []string{"astray", "delivered"}},
		{name: "after its end", make: func(s *story) { s.Subscriptions[1].Leaving, s.Subscriptions[1].Until = 8*sec, 8*sec }, want: []string{"astray"}},
	})
	last := func(s *story) { // what was published fifth comes after all others
		market(s)
		s.undeliver(1, 4)
		s.deliver(4, 1)
	}
	runCases(t, last, []verdictCase{
		{name: "out of order", make: func(s *story) { s.Deliveries[len(s.Deliveries)-1].At = 20 * sec }, want: []string{"order"}},
		{name: "out of order, on another topic", make: func(s *story) { s.Publications[4].Topic = "a.c" }},
		{name: "out of order, published at the same time", make: func(s *story) { s.Publications[4].Ended = 20 * sec }},
	})
}

// line is a queue of m1, m2 and m3 in which each gets every third of nine
// publications.
func line(s *story) {
	for _, node := range []string{"m1", "m2", "m3"} {
		s.queue(node, "a.*", "q", 0)
	}
	for i := range 9 {
		s.deliver(s.publish(5*sec+time.Duration(i)*sec, "c1", "a.b"), i%3)
	}
}

// This test checks that one subscription of a queue gets each publication.
func TestQueuesOfSubscriptionsShare(t *testing.T) {
	runCases(t, line, []verdictCase{
		{name: "each gets its share"},
		{name: "two get the same", make: func(s *story) {
			s.deliver(0, 2)
			s.Deliveries[9].At = 5*sec + 11*ms
			s.Deliveries = append(s.Deliveries[9:], s.Deliveries[:9]...)
		}, want: []string{"twice"}},
		{name: "nobody gets one", make: func(s *story) { s.undeliver(1, 4) }, want: []string{"delivered"}},
		{name: "nobody gets one, and one is told", make: func(s *story) {
			s.undeliver(1, 4)
			s.gap(2, "c1", 1, true)
		}},
		{name: "nobody gets one, and it is told of one of them in another place", make: func(s *story) {
			s.fault(7*sec, 9*sec, "pause", "m3")
			s.undeliver(1, 4)
			s.gap(2, "c1", 3, false)
			s.Gaps[0].At = 6 * sec
		}, want: []string{"delivered"}},
		{name: "nobody gets some, and at most fewer are told", make: func(s *story) {
			s.fault(7*sec, 9*sec, "pause", "m3")
			s.undeliver(1, 4)
			s.undeliver(2, 5)
			s.gap(2, "c1", 1, false)
		}, want: []string{"delivered"}},
		{name: "who was to have it had died", make: func(s *story) {
			s.crash(9500*ms, ms)
			s.Subscriptions[1].Leaving, s.Subscriptions[1].Until = 9500*ms, 9500*ms
			s.undeliver(1, 4)
			s.undeliver(1, 7)
			s.deliver(7, 0)
		}},
	})
}

// This test checks the figures of topics.
func TestTopicsAreMeasured(t *testing.T) {
	s := peace()
	market(s)
	s.undeliver(1, 4)
	s.gap(1, "c1", 1, true)
	s.Subscriptions[0].Name = "all"
	s.publish(21*sec, "c2", "b")
	s.Publications[10].Outcome = "deadline"
	for i := range s.Samples {
		if p := &s.Samples[i]; p.Node == "c1" {
			p.Sent[2] = uint64(p.At/sec) * 300
		}
	}
	claims(
		t, s, "published == 10", "publish_failed == 1", "deliveries == 19", "delivered == 95%", "delivered{desk} == 90%",
		"delivered{all} == 100%", "delivered{ticks} == 95%", "reported == 1", "reported{desk} == 1", "gaps_lost == 1", "gaps_slow == 0",
		"unreported == 0", "subscriptions == 2", "delivery_p50 == 10ms", "publish_max == 1ms", "subscribe_p50 == 10ms", "egress == 9",
	)
	s.Gaps = nil
	claims(t, s, "unreported == 1", "unreported{desk} == 1", "unreported{all} == 0")
	s.gap(1, "", 1, true)
	claims(t, s, "unreported == 0", "unreported{desk} == 0", "reported{desk} == 1")
	absent(t, peace(), "delivered", "published", "egress", "queue_balance")

	q := peace()
	line(q)
	claims(t, q, "queue_balance == 1", "delivered == 100%", "deliveries == 9")
}

// whole has a tunnel that ended well, but for what changes it.
func whole(change func(x *history.Tunnel)) func(s *story) {
	return func(s *story) { change(s.tunnel(5*sec, "c1", 0)) }
}

// This test checks that what comes out of a tunnel is what went in.
func TestTunnelsDeliverAPrefixAndAllAfterAGoodEnd(t *testing.T) {
	broken := func(change func(x *history.Tunnel)) func(s *story) {
		return whole(func(x *history.Tunnel) {
			x.Outcome, x.Forth.End, x.Back.End, x.Forth.Closed, x.Back.Closed = "interrupted", false, false, false, false
			change(x)
		})
	}
	runCases(t, nil, []verdictCase{
		{name: "all of it", make: whole(func(*history.Tunnel) {})},
		{name: "broken, a prefix", make: broken(func(x *history.Tunnel) { x.Forth.Received = 3 })},
		{name: "broken, one is under way", make: broken(func(x *history.Tunnel) { x.Forth.Tried = 11; x.Forth.Received = 11 })},
		{name: "broken, more than was sent", make: broken(func(x *history.Tunnel) { x.Forth.Received = 11 }), want: []string{"tunnel"}},
		{name: "another message", make: broken(func(x *history.Tunnel) { x.Back.Wrong = 1 }), want: []string{"tunnel"}},
		{name: "the end is missing", make: whole(func(x *history.Tunnel) { x.Forth.Received = 9 }), want: []string{"tunnel"}},
		{name: "an end that nobody made", make: whole(func(x *history.Tunnel) { x.Back.Closed = false }), want: []string{"tunnel"}},
		{name: "done without an end", make: whole(func(x *history.Tunnel) { x.Forth.End = false }), want: []string{"tunnel"}},
		{name: "two handlers", make: whole(func(x *history.Tunnel) { x.Served = append(x.Served, x.Served[0]) }), want: []string{"tunnel"}},
		{name: "no handler", make: whole(func(x *history.Tunnel) { x.Served = nil }), want: []string{"tunnel"}},
		{name: "no handler, its node was lost", make: func(s *story) {
			x := s.tunnel(5*sec, "c1", 1)
			x.Outcome, x.Served, x.Forth, x.Back = "interrupted", nil, history.Flow{Tried: 1}, history.Flow{}
			s.crash(5*sec+5*ms, ms)
		}},
		{name: "the program's own handler", make: whole(func(x *history.Tunnel) {
			x.Own, x.Forth, x.Back = true, history.Flow{Tried: 10, Sent: 10}, history.Flow{Received: 100}
		})},
	})
}

// This test checks that tunnels end in time, on both sides, and that credit
// bounds what is under way.
func TestTunnelsEndAndAreBounded(t *testing.T) {
	runCases(t, nil, []verdictCase{
		{name: "at the deadline", make: whole(func(x *history.Tunnel) { x.Ended = 10*sec + 5*ms })},
		{name: "after it", make: whole(func(x *history.Tunnel) { x.Ended = 10*sec + 6*ms }), want: []string{"ended"}},
		{name: "never", make: whole(func(x *history.Tunnel) { x.Ended = -1 }), want: []string{"ended"}},
		{name: "the handler stays for a while", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = 17 * sec })},
		{name: "the handler stays for long", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = 20 * sec }), want: []string{"ended"}},
		{name: "the handler stays for ever", make: whole(func(x *history.Tunnel) { x.Served[0].Ended = -1 }), want: []string{"ended"}},
		{name: "the handler's node was lost", make: func(s *story) {
			s.tunnel(5*sec, "c1", 1).Served[0].Ended = -1
			s.crash(7*sec, ms)
		}},
		{name: "as far ahead as allowed", make: whole(func(x *history.Tunnel) { x.Forth.Ahead = 4<<20 + 64<<10 + 2000 })},
		{name: "further ahead", make: whole(func(x *history.Tunnel) { x.Back.Ahead = 4<<20 + 64<<10 + 2001 }), want: []string{"ahead"}},
	})
}

// This test checks the figures of tunnels.
func TestTunnelsAreMeasured(t *testing.T) {
	s := peace()
	s.tunnel(5*sec, "c1", 0)
	s.tunnel(6*sec, "c1", 0).Outcome = "interrupted"
	s.tunnel(7*sec, "c1", 0).Lost = true
	refused := s.tunnel(8*sec, "c1", 0)
	refused.Outcome, refused.Opened, refused.Served, refused.Forth, refused.Back = "overloaded", -1, nil, history.Flow{}, history.Flow{}
	claims(
		t, s, "tunnels == 4", "tunnels_done == 1", "tunnels_broken == 1", "tunnels_refused == 1", "tunnels_excused == 1",
		"tunnel_messages == 60", "tunnel_bytes == 60KB", "tunnel_ahead_max{pipe} == 3KB", "tunnel_open_p50 == 10ms",
		"tunnel_rate_p50{pipe} == 20KB/s", "tunnel_rate_min == 20KB/s",
	)
	absent(t, peace(), "tunnels", "tunnel_rate_p50")
}

// This test checks that the way of a publication is counted link by link, from
// what was sent, and the copies of its publisher apart from those of others.
func TestTheWayOfAPublicationIsMeasured(t *testing.T) {
	s := peace()
	market(s)
	for i := range 10 {
		s.copy(i, "c1", "m2")
		s.copy(i, "m2", "m1")
	}
	for _, to := range []string{"c2", "m3"} {
		s.copy(3, "c1", to)
	}
	s.copy(4, "m1", "m3") // behind two others
	v := claims(
		t, s, "tree_depth == 3", "publisher_copies == 3", "publisher_bytes == 450", "forwarder_copies == 1",
		"tree_depth{ticks} == 3", "tree_depth{desk} == 3", "publisher_copies{ticks} == 3",
	)
	require.Equal(t, 12, v.Metrics["tree_depth"].Samples, "where nobody heard how it came, nothing is made up")
	require.Equal(t, 10, v.Metrics["publisher_copies"].Samples)
}

// This test checks that a node that gets a publication on two ways counts for
// the first, and that what comes from nowhere is not followed.
func TestTheFirstWayCounts(t *testing.T) {
	s := peace()
	market(s)
	s.copy(0, "c1", "m1")
	s.copy(0, "m2", "m3") // which m2 can't have
	s.copy(0, "c1", "m2")
	s.copy(0, "m2", "m1")
	s.copy(0, "c1", "m1") // again, after the link broke
	claims(t, s, "tree_depth == 1", "publisher_copies == 2", "publisher_bytes == 450", "forwarder_copies == 2")
}

// This test checks that probes and what nobody published are left out, and that
// there is no figure where nobody listened.
func TestWhatWasNotHeardIsNotMeasured(t *testing.T) {
	s := peace()
	market(s)
	absent(t, s, "tree_depth", "publisher_copies", "publisher_bytes", "forwarder_copies")
	s.copy(2, "c1", "m1")
	s.Publications[2].Work = "probe"
	s.Copies = append(s.Copies, s.Copies[0])
	s.Copies[1].Publication = 99
	absent(t, s, "tree_depth", "publisher_copies", "publisher_bytes", "forwarder_copies")
	require.True(t, s.judge(check.Rules{}).OK)
}

// This test checks that queues beyond their limits are found.
func TestQueuesStayWithinLimits(t *testing.T) {
	sample := func(i int, change func(p *queued)) func(s *story) {
		return func(s *story) { change(&queued{&s.Samples[i].Queued, &s.Samples[i].Waiting, &s.Samples[i].Running}) }
	}
	const m1 = 2 // its first sample
	runCases(t, nil, []verdictCase{
		{name: "full lanes", make: sample(m1, func(p *queued) { *p.lanes = [4]uint64{20 << 20, 32 << 20, 32 << 20, 48 << 20} })},
		{name: "more than full lanes", make: sample(m1, func(p *queued) { p.lanes[0] = 20<<20 + 1 }), want: []string{"queues"}},
		{name: "a smaller lane", make: sample(m1, func(p *queued) { p.lanes[3] = 17 << 20 }), rules: check.Rules{LaneBytes: [4]uint64{3: 1}}, want: []string{"queues"}},
		{name: "waiting", make: sample(m1, func(p *queued) { *p.waiting = 1024 })},
		{name: "too many waiting", make: sample(m1, func(p *queued) { *p.waiting = 1025 }), want: []string{"queues"}},
		{name: "none may wait", make: sample(m1, func(p *queued) { *p.waiting = 1 }), rules: check.Rules{Waiting: -1}, want: []string{"queues"}},
		{name: "running", make: sample(m1, func(p *queued) { *p.running = 64 })},
		{name: "too many running", make: sample(m1, func(p *queued) { *p.running = 65 }), want: []string{"queues"}},
		{name: "held for a client", make: func(s *story) { s.Samples[m1].Held = []history.Held{{Client: "app", Bytes: 57 << 20}} }},
		{name: "too much held for a client", make: func(s *story) { s.Samples[m1].Held = []history.Held{{Client: "app", Bytes: 57<<20 + 1}} }, want: []string{"held"}},
		{name: "at a node without members", make: sample(0, func(p *queued) { *p.running = 1 }), want: []string{"queues"}},
	})
}

// queued is what a case changes of a sample.
type queued struct {
	lanes            *[4]uint64
	waiting, running *int
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

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

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks that queues beyond their limits are found.
func TestQueuesStayWithinLimits(t *testing.T) {
	sample := func(i int, change func(p *queued)) func(s *story) {
		return func(s *story) { change(&queued{&s.Samples[i].Queued, &s.Samples[i].Waiting, &s.Samples[i].Running}) }
	}
	const m1 = 2 // its first sample
	runCases(t, []verdictCase{
		{name: "full lanes", make: sample(m1, func(p *queued) { *p.lanes = [4]uint64{20 << 20, 32 << 20, 32 << 20, 48 << 20} })},
		{name: "more than full lanes", make: sample(m1, func(p *queued) { p.lanes[0] = 20<<20 + 1 }), want: []string{"queues"}},
		{name: "a smaller lane", make: sample(m1, func(p *queued) { p.lanes[3] = 17 << 20 }), rules: check.Rules{LaneBytes: [4]uint64{3: 1}}, want: []string{"queues"}},
		{name: "waiting", make: sample(m1, func(p *queued) { *p.waiting = 1024 })},
		{name: "too many waiting", make: sample(m1, func(p *queued) { *p.waiting = 1025 }), want: []string{"queues"}},
		{name: "none may wait", make: sample(m1, func(p *queued) { *p.waiting = 1 }), rules: check.Rules{Waiting: -1}, want: []string{"queues"}},
		{name: "running", make: sample(m1, func(p *queued) { *p.running = 64 })},
		{name: "too many running", make: sample(m1, func(p *queued) { *p.running = 65 }), want: []string{"queues"}},
		{name: "at a node without members", make: sample(0, func(p *queued) { *p.running = 1 }), want: []string{"queues"}},
	})
}

// queued is what a case changes of a sample.
type queued struct {
	lanes            *[4]uint64
	waiting, running *int
}

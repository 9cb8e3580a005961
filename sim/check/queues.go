// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// laneSlack is what an empty lane takes beyond its limit: one message of any
// legal size.
const laneSlack = 16 << 20

// checkQueues: what waits in lanes, what waits for handlers and what runs stays
// within the limits, for each link and each member of a node.
func checkQueues(f *facts, _ *viewMeasures, d *docket) {
	for i := range f.h.Samples {
		p := &f.h.Samples[i]
		links := uint64(max(1, p.Links))
		for lane, name := range [...]string{"ctl", "rpc", "pub", "bulk"} {
			if limit := f.rules.LaneBytes[lane]*links + laneSlack; p.Queued[lane] > limit {
				d.add(p.At, "%d bytes waited in lane %s of %s, which has %d links; at most %d may", p.Queued[lane], name, p.Node, p.Links, limit)
			}
		}
		f.checkWork(p, d)
	}
}

func (f *facts) checkWork(p *history.Sample, d *docket) {
	if p.Waiting <= 0 && p.Running <= 0 {
		return
	}
	members := f.members(p.Node, p.At)
	if limit := f.rules.Waiting * members; p.Waiting > limit {
		d.add(p.At, "%d requests waited at %s, which has %d members; at most %d may", p.Waiting, p.Node, members, limit)
	}
	if limit := f.rules.Running * members; p.Running > limit {
		d.add(p.At, "%d handlers ran at %s, which has %d members; at most %d may", p.Running, p.Node, members, limit)
	}
}

// members counts the registrations of a node that could have work then, or just
// before: a sample takes its figures one after the other.
func (f *facts) members(node string, at time.Duration) int {
	n := 0
	for _, i := range f.byNode[node] {
		if serves(&f.h.Tenures[i], at, time.Second) {
			n++
		}
	}
	return n
}

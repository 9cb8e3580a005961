// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/arke-mesh/arke/sim/history"
)

// laneSlack is what an empty lane takes beyond its limit: one message of any
// legal size.
const laneSlack = 16 << 20

// checkQueues: what waits in lanes, what waits for handlers and what runs stays
// within the limits, for each link and each member of a node.
func checkQueues(m *registrations, r *Rules, d *docket) {
	for i := range m.h.Samples {
		p := &m.h.Samples[i]
		links := uint64(max(1, p.Links))
		for lane, name := range [...]string{"ctl", "rpc", "pub", "bulk"} {
			if limit := r.LaneBytes[lane]*links + laneSlack; p.Queued[lane] > limit {
				d.add(p.At, "%d bytes waited in lane %s of %s, which has %d links; at most %d may", p.Queued[lane], name, p.Node, p.Links, limit)
			}
		}
		checkWork(m, r, p, d)
	}
}

func checkWork(m *registrations, r *Rules, p *history.Sample, d *docket) {
	if p.Waiting <= 0 && p.Running <= 0 {
		return
	}
	members := m.serving(p.Node, p.At)
	if limit := r.Waiting * members; p.Waiting > limit {
		d.add(p.At, "%d requests waited at %s, which has %d members; at most %d may", p.Waiting, p.Node, members, limit)
	}
	if limit := r.Running * members; p.Running > limit {
		d.add(p.At, "%d handlers ran at %s, which has %d members; at most %d may", p.Running, p.Node, members, limit)
	}
}

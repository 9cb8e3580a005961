// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// arrival measures how long it takes until observers know a new member.
type arrival struct{ samples []time.Duration }

func (a *arrival) see(c *disturbance, s *sight) {
	if s.tenure < 0 || s.truth.from < c.h.Start || !s.when.covers(s.truth.from) {
		return
	}
	for i := range s.changes {
		v := &s.changes[i]
		if v.State != "live" {
			continue
		}
		known := max(v.At, s.truth.from)
		if known < s.truth.until && !c.pair(s.node.Name, s.of.Node, span{s.truth.from, known}) {
			a.samples = append(a.samples, minus(known, s.truth.from))
		}
		return
	}
}

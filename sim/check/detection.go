// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// witness is an observer of a fault.
type witness struct {
	fault    int
	observer string
}

// detection measures how long the dead are taken for live.
type detection struct {
	samples []time.Duration
	seen    map[witness]time.Duration // when the observer knew, for every fault that removed a member
}

func (d *detection) see(c *disturbance, s *sight) {
	if s.tenure < 0 || c.endedBy[s.tenure] < 0 {
		return
	}
	fault := c.endedBy[s.tenure]
	w := witness{fault, s.node.Name}
	at := c.h.Faults[fault].At
	d.seen[w] = max(d.seen[w], at)
	for _, z := range s.zombie {
		if z.from != s.truth.until {
			continue
		}
		d.seen[w] = max(d.seen[w], z.until)
		if !dies(c.h.Faults[fault].Do) || c.grace[s.node.Name].touches(span{at, z.until}) {
			continue
		}
		// What the end of the observer or of its watch cut short says nothing; the
		// end of the run says that it took at least so long.
		if s.noticed(z) || z.until >= c.h.End {
			d.samples = append(d.samples, minus(z.until, at))
		}
	}
}

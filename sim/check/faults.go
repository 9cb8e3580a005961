// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

func measureFaults(c *disturbance, s sheet) {
	total := 0
	kinds := make(map[string]int)
	for i := range c.h.Faults {
		fault := &c.h.Faults[i]
		if Undoes(fault) {
			continue
		}
		kinds[fault.Do]++
		total++
	}
	restarts, starts := 0, 0
	for _, lives := range c.lives.byName {
		restarts += len(lives) - 1
		if c.h.Nodes[lives[0]].From > c.h.Start {
			starts++
		}
	}
	s.count("faults", total)
	s.count("restarts", restarts)
	s.count("starts", starts)
	for _, k := range faultKinds() {
		s.count(k.metric, kinds[k.do])
	}
}

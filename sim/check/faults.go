// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

func (f *facts) measureFaults(s sheet) {
	total := 0
	kinds := make(map[string]int)
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if undoes(fault) {
			continue
		}
		kinds[fault.Do]++
		total++
	}
	restarts, starts := 0, 0
	for _, lives := range f.lives {
		restarts += len(lives) - 1
		if f.h.Nodes[lives[0]].From > f.h.Start {
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

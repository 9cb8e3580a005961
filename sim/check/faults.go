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
		if !returns(fault.Do) {
			total++
		}
	}
	s.count("faults", total)
	for _, k := range faultKinds() {
		s.count(k.metric, kinds[k.do])
	}
}

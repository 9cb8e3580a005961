// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

func (f *facts) measureLatency(s sheet) {
	var all, calm, fault []time.Duration
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		if r.Lost || r.Work == probe || r.Outcome != "reply" || r.Ended < 0 {
			continue
		}
		took := minus(r.Ended, r.Sent)
		all = append(all, took)
		if f.calm.calmly(span{r.Sent, max(r.Sent, r.Ended)}) {
			calm = append(calm, took)
		} else {
			fault = append(fault, took)
		}
	}
	s.quantiles("latency", all)
	s.quantiles("latency_calm", calm)
	s.quantiles("latency_fault", fault)
}

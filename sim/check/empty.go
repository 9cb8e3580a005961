// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkEmpty: as long as no fault hit anything, no caller is told that a
// cluster has no members while it has one. After faults such answers are only
// counted: an anchor may have to be found first.
func checkEmpty(f *facts, _ *viewMeasures, d *docket) {
	for _, i := range f.falseEmpty() {
		r := &f.h.Requests[i]
		if f.quiet(r.Ended) {
			d.add(r.Ended, "request %d of %s was told that %s has no members, and nothing had gone wrong", r.ID, r.Caller, r.Cluster)
		}
	}
}

// falseEmpty lists the requests that were told that there are no members
// although one was registered long enough, reachable and healthy.
func (f *facts) falseEmpty() []int {
	var out []int
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		if r.Outcome == "no_members" && !r.Lost && f.reachable(r) {
			out = append(out, i)
		}
	}
	return out
}

func (f *facts) reachable(r *history.Request) bool {
	since := minus(r.Sent, f.rules.Known)
	while := span{since, max(r.Sent, r.Ended) + time.Nanosecond}
	life := f.life(r.Caller, r.Sent)
	for _, i := range f.tenures[r.Cluster] {
		t := &f.h.Tenures[i]
		s := truth(t)
		if s.from <= since && s.until >= while.until && f.known(life, i) && !f.calm.pair(r.Caller, t.Node, while) {
			return true
		}
	}
	return false
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkProgress: once everything is healed and had time to settle, every probe
// to a cluster that has a member is answered.
func checkProgress(f *facts, _ *viewMeasures, d *docket) {
	settled := plus(f.h.Safety, f.rules.Settle)
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		if r.Work != probe || r.Lost || answered(r) || r.Sent < settled || f.pending(r) {
			continue
		}
		if f.served(r) {
			d.add(r.Sent, "probe %d of %s to %s, sent %v after the faults, was not answered: %s %s",
				r.ID, r.Caller, r.Cluster, minus(r.Sent, f.h.Safety), r.Outcome, r.Detail)
		}
	}
}

// served says whether a member that the caller can know was live from the time
// that the request was sent until it ended.
func (f *facts) served(r *history.Request) bool {
	life := f.life(r.Caller, r.Sent)
	for _, i := range f.tenures[r.Cluster] {
		s := truth(&f.h.Tenures[i])
		if s.from <= r.Sent && s.until > max(r.Sent, r.Ended) && f.known(life, i) {
			return true
		}
	}
	return false
}

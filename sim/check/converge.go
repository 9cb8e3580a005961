// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// checkConverge: after the last fault every correct observer takes
// exactly the live members to be alive (alive.go) within the bound, and at the
// end.
func checkConverge(m *viewMeasures, d *docket) {
	for _, w := range m.agreement.wrongs {
		truth := "live"
		if w.zombie {
			truth = "dead"
		}
		d.add(w.when.from, "%s, observing %s, was wrong about the %s %s, until %v, %v after the last fault",
			w.observer, w.cluster, truth, w.whom(), w.when.until, minus(w.when.until, m.calm.last))
	}
	d.total += m.agreement.total - len(m.agreement.wrongs)
}

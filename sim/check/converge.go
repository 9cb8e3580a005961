// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// checkConverge: after the last fault every correct observer sees exactly the
// live members within the bound, and at the end. A member that its observer
// leaves out for a while because it is slow or failing (ejected) is seen.
func checkConverge(f *facts, m *viewMeasures, d *docket) {
	for _, w := range m.agreement.wrongs {
		how := "did not show as live the live"
		if w.zombie {
			how = "showed as live the dead"
		}
		d.add(w.when.from, "%s, observing %s, %s %s, until %v, %v after the last fault",
			f.h.Nodes[w.life].Name, w.cluster, how, w.whom(), w.when.until, minus(w.when.until, f.lastFault))
	}
	d.total += m.agreement.total - len(m.agreement.wrongs)
}

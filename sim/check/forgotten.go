// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// forgotten finds live members that correct observers never see again.
type forgotten struct {
	members map[int]bool // tenures
	total   int
	found   []finding
}

func (g *forgotten) see(c *disturbance, s *sight) {
	if !s.node.Correct || s.tenure < 0 || s.truth.until <= c.h.End {
		return
	}
	watched := s.when[len(s.when)-1]
	news := max(c.last, s.truth.from, watched.from)
	if watched.until < c.h.End || plus(news, c.rules.Converge) > c.h.End {
		return // nothing can be said, or not yet
	}
	since := watched.from
	if n := len(s.changes); n > 0 {
		if s.changes[n-1].State != "" {
			return
		}
		since = s.changes[n-1].At
	}
	g.members[s.tenure] = true
	g.total++
	if len(g.found) < maxFindings {
		g.found = append(g.found, s.finding(span{since, c.h.End}))
	}
}

// checkForgotten: a live member that a correct observer does not see at the
// end, long after the last fault, is lost for good.
func checkForgotten(m *viewMeasures, d *docket) {
	for _, w := range m.forgotten.found {
		d.add(w.when.from, "%s, observing %s, has lost the live %s for good",
			w.observer, w.cluster, w.whom())
	}
	d.total += m.forgotten.total - len(m.forgotten.found)
}

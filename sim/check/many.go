// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// census counts how many of the members that had to be reached were.
type census struct{ reached, stable int }

// measureMany measures surveys and broadcasts.
func measureMany(q *requests, s sheet) {
	works := make(map[string]*census)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Lost || r.Ended < 0 {
			continue
		}
		for _, work := range labels(r.Work) {
			c := entry(works, work)
			for _, tenure := range stableMembers(q, r) {
				c.stable++
				if wasReached(q, i, tenure) {
					c.reached++
				}
			}
		}
	}
	for work, c := range works {
		s.share(named("completeness", work), c.reached, c.stable)
	}
}

// labels are under which names something of a work, or of a subscription, is
// measured.
func labels(names ...string) []string {
	out := []string{""}
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

func manyMetrics() []MetricInfo {
	return perWork([]MetricInfo{
		{Name: "completeness", Unit: Percent, Meaning: "of the members that were registered long enough before a survey or a broadcast, stayed until its end and could be reached, those that answered it or got it"},
	}, nil)
}

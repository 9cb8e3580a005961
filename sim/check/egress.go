// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// lanePub is the index of the lane for broadcasts and topics.
const lanePub = 2

// measureEgress finds out how many bytes nodes sent for what was published,
// between the first and the last sample of each life in the safety phase.
func measureEgress(x *topics, s sheet) {
	if len(x.h.Publications) == 0 {
		return
	}
	lives := make(map[int]*usage)
	for i := range x.h.Samples {
		p := &x.h.Samples[i]
		if life := x.lives.at(p.Node, p.At); life >= 0 {
			entry(lives, life).add(p, span{x.h.Start, x.h.Safety})
		}
	}
	worst, busiest, publishers, others := 0.0, 0.0, 0, 0
	for life, u := range lives {
		if u.first == nil || u.upto.At <= u.first.At || u.upto.Sent[lanePub] < u.first.Sent[lanePub] {
			continue
		}
		own, all := bodies(x, life, span{u.first.At, u.upto.At})
		sent := float64(u.upto.Sent[lanePub] - u.first.Sent[lanePub])
		switch {
		case own > 0:
			worst = max(worst, sent/float64(own))
			publishers++
		case all > 0:
			busiest = max(busiest, sent/float64(all))
			others++
		}
	}
	if publishers > 0 {
		s["egress"] = Metric{Value: worst, Unit: Ratio, Samples: publishers}
	}
	if others > 0 {
		s["egress_others"] = Metric{Value: busiest, Unit: Ratio, Samples: others}
	}
}

// bodies sums up the bodies that one life, and that all, published in a time.
func bodies(x *topics, life int, s span) (own, all int) {
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		if p.Sent < s.from || p.Sent >= s.until || p.Outcome != "published" {
			continue
		}
		all += p.Size
		if x.source[i] == life {
			own += p.Size
		}
	}
	return own, all
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// Member is what one node did for one cluster, over all its registrations.
type Member struct {
	Cluster  string  `json:"cluster"`
	Node     string  `json:"node"`
	Tenures  int     `json:"tenures"`  // registrations, failed ones included
	Requests int     `json:"requests"` // handled
	Share    float64 `json:"share"`    // of the cluster's, 1 is all of it
}

// seat is a node's place in a cluster.
type seat struct {
	cluster, node string
}

func (s seat) compare(o seat) int {
	return cmp.Or(natural(s.cluster, o.cluster), natural(s.node, o.node))
}

func members(h *history.History) []Member {
	seats := map[seat]*Member{}
	total := map[string]int{}
	for _, t := range h.Tenures {
		s := seat{t.Cluster, t.Node}
		if seats[s] == nil {
			seats[s] = &Member{Cluster: t.Cluster, Node: t.Node}
		}
		seats[s].Tenures++
	}
	for i := range h.Runs {
		if at := h.Runs[i].Tenure; at >= 0 && at < len(h.Tenures) {
			t := &h.Tenures[at]
			seats[seat{t.Cluster, t.Node}].Requests++
			total[t.Cluster]++
		}
	}
	var all []Member
	for _, s := range slices.SortedFunc(maps.Keys(seats), seat.compare) {
		m := *seats[s]
		if total[m.Cluster] > 0 {
			m.Share = rounded(float64(m.Requests)/float64(total[m.Cluster]), 10_000)
		}
		all = append(all, m)
	}
	return all
}

// names returns the different names of nodes, in an order for people.
func names(h *history.History) []string {
	seen := map[string]bool{}
	for i := range h.Nodes {
		seen[h.Nodes[i].Name] = true
	}
	return slices.SortedFunc(maps.Keys(seen), natural)
}

// shownMembers is how many members are drawn one by one; the others share a row.
const shownMembers = 30

// memberLine is a row of the members' chart.
type memberLine struct {
	Member
	name    string
	rate    []float64 // requests by bucket
	tenures []history.Tenure
}

// memberLines counts what each member handled over time, in the order of
// clusters and nodes.
func memberLines(a axis, h *history.History, all []Member) []*memberLine {
	at := map[seat]*memberLine{}
	var lines []*memberLine
	for _, m := range all {
		l := &memberLine{Member: m, name: m.Node, rate: make([]float64, a.n)}
		at[seat{m.Cluster, m.Node}] = l
		lines = append(lines, l)
	}
	for _, t := range h.Tenures {
		l := at[seat{t.Cluster, t.Node}]
		l.tenures = append(l.tenures, t)
	}
	for _, r := range h.Runs {
		if r.Tenure >= 0 && r.Tenure < len(h.Tenures) {
			t := &h.Tenures[r.Tenure]
			at[seat{t.Cluster, t.Node}].rate[a.index(r.Began)]++
		}
	}
	return lines
}

// pickMembers keeps the members that are worth a row: those that faults hit,
// then the busiest and the idlest. The others become one row, their average.
func pickMembers(lines []*memberLine, weight map[string]float64) (shown []*memberLine, rest *memberLine) {
	if len(lines) <= shownMembers {
		return lines, nil
	}
	order := slices.Clone(lines)
	slices.SortStableFunc(order, func(x, y *memberLine) int {
		return cmp.Compare(weight[y.Node], weight[x.Node])
	})
	keep := map[*memberLine]bool{}
	hit := 0
	for _, l := range order {
		if weight[l.Node] > 0 && hit < shownMembers-6 {
			keep[l] = true
			hit++
		}
	}
	slices.SortStableFunc(order, func(x, y *memberLine) int { return cmp.Compare(y.Requests, x.Requests) })
	for i := 0; len(keep) < shownMembers; i++ {
		keep[order[i/2]] = true // the busiest and, by turns, the idlest
		if i%2 == 1 {
			keep[order[len(order)-1-i/2]] = true
		}
	}
	rest = &memberLine{rate: make([]float64, len(lines[0].rate))}
	n := 0
	for _, l := range lines {
		if keep[l] {
			shown = append(shown, l)
			continue
		}
		n++
		rest.Requests += l.Requests
		rest.Share += l.Share
		for i, v := range l.rate {
			rest.rate[i] += v
		}
	}
	for i := range rest.rate {
		rest.rate[i] /= float64(n)
	}
	rest.name = fmt.Sprintf("%d others", n)
	return shown, rest
}

// memberChart is a row for each member: when it was registered, and how many
// requests it handled. All rows have the same scale.
func memberChart(a axis, h *history.History, members []Member, all []band) chart {
	c := chart{About: "Requests that each member handled over time"}
	if len(members) == 0 {
		return c
	}
	c.Caption = "Requests that a member’s handler began, over time, all on the same scale; on the right how many there were, and their share of the cluster’s. " +
		"The thin bar below is the time in which the member was registered; shaded are faults of its node."
	lines, rest := pickMembers(memberLines(a, h, members), weights(h))
	if rest != nil {
		c.Caption += excerpt(len(lines), len(members), "members") + " They are those that faults hit most directly, the busiest and the idlest."
		lines = append(slices.Clone(lines), rest)
	}
	largest := 0.0
	for _, l := range lines {
		largest = max(largest, slices.Max(a.perSecond(l.rate)))
	}
	cluster := ""
	for _, l := range lines {
		if l.Cluster != cluster && l != rest {
			cluster = l.Cluster
			c.Rows = append(c.Rows, row{Kind: heading, Label: "cluster " + cluster})
		}
		r := row{
			Kind: area, Label: l.name, Note: fmt.Sprintf("%s (%.1f %%)", grouped(l.Requests), l.Share*100),
			Unit: "/s", Height: 30, High: largest, Series: one(a.perSecond(l.rate)), Shade: l.shade(a, all),
		}
		if l == rest {
			r.Under = "average"
		}
		for _, t := range l.tenures {
			if t.From >= 0 {
				r.Bands = append(r.Bands, stretch{From: a.until(t.From), To: a.until(t.Until), Look: "tenure", Text: "registered from " + clock(t.From) + " to " + ended(t.Until)})
			}
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

// shade are the times of faults of the member's own node.
func (l *memberLine) shade(a axis, all []band) [][2]float64 {
	var own []band
	for _, b := range all {
		if len(b.Nodes) <= 8 && slices.Contains(b.Nodes, l.Node) {
			own = append(own, b)
		}
	}
	return shade(a, own)
}

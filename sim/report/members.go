// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
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

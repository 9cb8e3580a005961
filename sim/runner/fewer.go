// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/scenario"
)

// fewerNodes leaves out nodes from the end of a group: all, half of them, or
// one, with everything that is about them.
func fewerNodes(s scenario.Scenario) []scenario.Scenario {
	var all []scenario.Scenario
	for i, group := range s.Nodes {
		names := group.Names()
		tried := map[int]bool{}
		for _, keep := range []int{0, len(names) / 2, len(names) - 1} {
			if !tried[keep] {
				tried[keep] = true
				all = append(all, dropNodes(s, i, keep))
			}
		}
	}
	return all
}

// dropNodes keeps so many nodes of a group.
func dropNodes(s scenario.Scenario, group, keep int) scenario.Scenario {
	gone := map[string]bool{}
	for _, name := range s.Nodes[group].Names()[keep:] {
		gone[name] = true
	}
	s.Nodes = slices.Clone(s.Nodes)
	s.Nodes[group].Count = keep
	if keep == 0 {
		gone[s.Nodes[group].Name] = true
		s.Nodes = slices.Delete(s.Nodes, group, group+1)
	}
	zones := map[string]bool{"*": true}
	for _, g := range s.Nodes {
		zones["zone:"+g.Zone] = true
	}
	left := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return gone[name] || strings.HasPrefix(name, "zone:") && !zones[name]
		})
	}
	s.Links = slices.DeleteFunc(slices.Clone(s.Links), func(l scenario.Link) bool {
		return len(left(l.Between)) < len(l.Between)
	})
	s.Clusters, s.Workload = dropFromClusters(s, left)
	s.Timeline = dropFromTimeline(s.Timeline, left)
	return s
}

// dropFromClusters leaves out clusters without members and works without
// callers or a cluster.
func dropFromClusters(s scenario.Scenario, left func([]string) []string) ([]scenario.Cluster, []scenario.Work) {
	var clusters []scenario.Cluster
	known := map[string]bool{}
	for _, c := range s.Clusters {
		if c.Members = left(c.Members); len(c.Members) == 0 {
			continue
		}
		c.Keys = maps.Clone(c.Keys)
		maps.DeleteFunc(c.Keys, func(node, _ string) bool { return len(left([]string{node})) == 0 })
		known[c.Name] = true
		clusters = append(clusters, c)
	}
	var works []scenario.Work
	for _, w := range s.Workload {
		if w.From = left(w.From); len(w.From) > 0 && known[w.To] {
			works = append(works, w)
		}
	}
	return clusters, works
}

// dropFromTimeline leaves out actions that are about nobody any more.
func dropFromTimeline(actions []scenario.Action, left func([]string) []string) []scenario.Action {
	var all []scenario.Action
	for _, a := range actions {
		if len(a.Nodes) > 0 {
			if a.Nodes = left(a.Nodes); len(a.Nodes) == 0 {
				continue
			}
		}
		sides := make([][]string, 0, len(a.Between))
		for _, side := range a.Between {
			if side = left(side); len(side) > 0 {
				sides = append(sides, side)
			}
		}
		if len(sides) < len(a.Between) {
			continue
		}
		if a.Between = sides; len(sides) == 0 {
			a.Between = nil
		}
		if a.Work != nil {
			w := *a.Work
			if w.From = left(w.From); len(w.From) == 0 {
				continue
			}
			a.Work = &w
		}
		all = append(all, a)
	}
	return all
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"

	"github.com/arke-mesh/arke/internal/drop"
)

// Status is a summary for people.
type Status struct {
	Served  []ServedStatus  `json:"served"`  // by name
	Watched []WatchedStatus `json:"watched"` // by name
	// What is held as an anchor: ids of clusters, leases, and watches.
	Anchored int `json:"anchored"`
	Leases   int `json:"leases"`
	Watches  int `json:"watches"`

	Drops map[string]uint64 `json:"drops"` // reason to count; what never occurred is left out
}

// ServedStatus is one cluster with members on this node.
type ServedStatus struct {
	Cluster      string `json:"cluster"`
	Members      int    `json:"members"`
	Acknowledged int    `json:"acknowledged"` // of these, now held by a majority of anchors
	// Internal says that no program has asked for it by this name: it is a group of
	// topics. Package node says so; clusters are alike here.
	Internal bool `json:"internal,omitempty"`
}

// WatchedStatus is one cluster that this node calls.
type WatchedStatus struct {
	Cluster string `json:"cluster"`
	Members int    `json:"members"`
	Known   bool   `json:"known"`

	Internal bool `json:"internal,omitempty"` // see ServedStatus
}

// Status is what `arke status` shows of this layer. The caller owns it.
func (c *Clusters) Status() Status {
	s := *c.status.Load()
	s.Served = slices.Clone(s.Served)
	s.Drops = c.drops.ByName()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		v := c.entries[name].view.Load()
		s.Watched = append(s.Watched, WatchedStatus{Cluster: name, Members: len(v.Members), Known: v.Known})
	}
	return s
}

// publishStatus shows what only the control loop knows.
func (c *Clusters) publishStatus(k *control) {
	c.status.Store(&Status{Anchored: len(k.anchor.books), Leases: k.anchor.leases, Watches: k.anchor.watches, Served: k.registrar.served()})
}

// DropNames are the reasons that Status.Drops counts.
func DropNames() []string { return drop.Names(dropReasons) }

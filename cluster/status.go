// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
)

// Status is a summary for people.
type Status struct {
	Served  []ServedStatus    `json:"served"`  // by name
	Watched []WatchedStatus   `json:"watched"` // by name
	Leases  int               `json:"leases"`  // held as anchor
	Watches int               `json:"watches"` // held as anchor
	Drops   map[string]uint64 `json:"drops"`   // reason to count; what never occurred is left out
}

// ServedStatus is one cluster with members on this node.
type ServedStatus struct {
	Cluster      string `json:"cluster"`
	Members      int    `json:"members"`
	Acknowledged int    `json:"acknowledged"` // of these, now held by a majority of anchors
}

// WatchedStatus is one cluster that this node calls.
type WatchedStatus struct {
	Cluster string `json:"cluster"`
	Members int    `json:"members"`
	Known   bool   `json:"known"`
}

// Status is what `arke status` shows of this layer. The caller owns it.
func (c *Clusters) Status() Status {
	s := *c.status.Load()
	s.Served = slices.Clone(s.Served)
	s.Drops = maps.Clone(s.Drops)
	if s.Drops == nil {
		s.Drops = make(map[string]uint64)
	}
	c.inbox.mu.Lock()
	for reason, n := range c.inbox.drops {
		s.Drops[reason] += n
	}
	c.inbox.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		v := c.entries[name].view.Load()
		s.Watched = append(s.Watched, WatchedStatus{name, len(v.Members), v.Known})
	}
	return s
}

// publishStatus shows what only the control loop knows.
func (c *Clusters) publishStatus(k *control) {
	s := &Status{Leases: k.anchor.leases, Watches: k.anchor.watches, Served: k.registrar.served()}
	s.Drops = make(map[string]uint64)
	for _, from := range []counters{k.drops, k.anchor.refused, k.registrar.refused, k.lookout.rejected} {
		for reason, n := range from {
			s.Drops[reason] += n
		}
	}
	c.status.Store(s)
}

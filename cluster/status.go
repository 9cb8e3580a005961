// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
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
	c.status.Store(&Status{Anchored: len(k.anchor.books), Leases: k.anchor.leases, Watches: k.anchor.watches, Served: k.registrar.served.now(k.registrar.count)})
}

// servedTable is what status says of the names that have members here.
type servedTable struct {
	known   []ServedStatus  // by name; nobody changes what was returned
	doubted map[string]bool // names whose status may be another one now
}

// doubt has the members of name counted again.
func (t *servedTable) doubt(name string) { t.doubted[name] = true }

// now is what holds now, if count counts the members of a name. Nobody changes the result.
func (t *servedTable) now(count func(name string) ServedStatus) []ServedStatus {
	mine := false // known is a copy that nobody has seen
	for name := range t.doubted {
		i, ok := slices.BinarySearchFunc(t.known, name, func(s ServedStatus, name string) int { return cmp.Compare(s.Cluster, name) })
		s := count(name)
		if ok && s == t.known[i] || !ok && s.Members == 0 {
			continue // mostly: at rest a copy would be half of all that is allocated
		}
		if !mine {
			t.known, mine = slices.Clone(t.known), true
		}
		if ok {
			t.known = slices.Delete(t.known, i, i+1)
		}
		if s.Members > 0 {
			t.known = slices.Insert(t.known, i, s)
		}
	}
	clear(t.doubted)
	return t.known
}

// count counts the members of one name.
func (r *registrar) count(name string) ServedStatus {
	s := ServedStatus{Cluster: name}
	for _, g := range r.members.of(name) {
		s.Members++
		if g.acknowledged && g.held(r) {
			s.Acknowledged++
		}
	}
	return s
}

// DropNames are the reasons that Status.Drops counts.
func DropNames() []string { return drop.Names(dropReasons) }

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// Status is a summary for people.
type Status struct {
	Served  []ServedStatus    `json:"served"`  // by name
	Watched []WatchedStatus   `json:"watched"` // by name
	Leases  int               `json:"leases"`  // held as anchor
	Watches int               `json:"watches"` // held as anchor
	Drops   map[string]uint64 `json:"drops"`   // reason to count
}

// ServedStatus is one cluster with members on this node.
type ServedStatus struct {
	Cluster      string `json:"cluster"`
	Members      int    `json:"members"`
	Acknowledged int    `json:"acknowledged"` // of these, by a majority of anchors
}

// WatchedStatus is one cluster that this node calls.
type WatchedStatus struct {
	Cluster string `json:"cluster"`
	Members int    `json:"members"`
	Known   bool   `json:"known"`
}

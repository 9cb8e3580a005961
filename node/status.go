// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
)

// Status is what a node says about itself, for people and tools. No field is
// secret.
type Status struct {
	Peer        string   `json:"peer"`
	Addrs       []string `json:"addrs"` // without /p2p
	Network     string   `json:"network"`
	NetworkID   string   `json:"network_id"`
	Zone        string   `json:"zone,omitempty"`
	Incarnation uint64   `json:"incarnation"`
	State       string   `json:"state"` // new, running, draining, or closed

	Links    []overlay.LinkStatus    `json:"links"`    // by peer id
	Clusters []cluster.ServedStatus  `json:"clusters"` // served here, by name
	Watches  []cluster.WatchedStatus `json:"watches"`  // called from here, by name
	Anchors  AnchorStatus            `json:"anchors"`
	Queues   []request.MemberStatus  `json:"queues"` // by cluster, then member
	Requests request.CallStatus      `json:"requests"`
	Drops    map[string]uint64       `json:"drops"` // "layer.reason" to count, since the start
}

// AnchorStatus is what this node holds for others.
type AnchorStatus struct {
	Leases  int `json:"leases"`
	Watches int `json:"watches"`
}

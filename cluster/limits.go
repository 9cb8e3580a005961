// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// Bounds of what one anchor holds for others. Whoever exceeds one is refused
// by name (wire.Refusal_FULL), never silently.
const (
	maxClusterLeases  = 1 << 11  // leases of one cluster id; topics may have many subscribing nodes
	maxClusterWatches = 1 << 12  // watchers of one cluster id; all publishers watch the root group's forwarders
	maxLeases         = 1 << 14  // leases in all
	maxWatches        = 1 << 14  // watches in all
	maxRecordBytes    = 32 << 20 // sealed records in all
	maxPeerLeases     = 1 << 12  // leases of one peer
	maxPeerWatches    = 1 << 12  // watches of one peer
)

// partBytes bounds the leases in one Snapshot part or Delta, so that other
// frames of the lane get their turn.
const partBytes = 32 << 10

// leaseOverhead is about what a lease takes beside its record and peer id.
const leaseOverhead = 64 + 32

// parts cuts leases so that each part fits a frame. There is at least one.
func parts(leases []lease) [][]lease {
	var out [][]lease
	size, start := 0, 0
	for i := range leases {
		n := len(leases[i].record) + len(leases[i].peer) + leaseOverhead
		if i > start && (size+n > partBytes || i-start == maxPart) {
			out = append(out, leases[start:i])
			size, start = 0, i
		}
		size += n
	}
	return append(out, leases[start:])
}

// maxPart bounds the leases or references in one message.
const maxPart = 256

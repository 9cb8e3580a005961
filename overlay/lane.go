// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/arke-mesh/arke/internal/wire"

// Lane is one ordered queue of a link. A lower number leaves first.
type Lane = wire.Lane

// The four lanes, by priority.
const (
	LaneCtl   = wire.LaneCtl  // membership, credit
	LaneRPC   = wire.LaneRPC  // requests and replies up to 64 KiB
	LanePub   = wire.LanePub  // broadcast and topics; their order matters
	LaneBulk  = wire.LaneBulk // large messages and tunnels, in frames of at most 64 KiB
	laneCount = wire.Lanes
)

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Lane is one ordered queue of a session. A lower number leaves first.
type Lane uint8

// The four lanes, by priority.
const (
	LaneCtl  Lane = iota // membership, credit
	LaneRPC              // requests and replies up to 64 KiB
	LanePub              // broadcast and topics; their order matters
	LaneBulk             // large messages and tunnels, in frames of at most 64 KiB

	Lanes = 4
)

// String returns the lane's name as used in flags, logs and metrics.
func (l Lane) String() string {
	if l >= Lanes {
		return "unknown"
	}
	return laneNames[l]
}

var laneNames = [Lanes]string{"ctl", "rpc", "pub", "bulk"}

// Counts has one number of frames for each lane.
type Counts [Lanes]uint64

// UnknownCounts are the counts of a session of which the sender knows nothing.
func UnknownCounts() (c Counts) {
	for lane := range c {
		c[lane] = 1<<64 - 1
	}
	return c
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import "github.com/arke-mesh/arke/cluster"

// A life is the time during which a node listens to one group without a break. Its
// leases follow each other as its patterns change, and may be out of sight for a while;
// the life is in their ids. A publisher counts on as long as the life is the same: so a
// node that was out of reach learns what it missed, and one that had stopped listening
// is not told of what it did not ask for.

// MemberIn returns the id of a lease of that life.
func MemberIn(life uint16, random uint64) cluster.MemberID {
	return cluster.MemberID(uint64(life)<<48 | max(random>>16, 1))
}

// LifeOf returns the life of a lease.
func LifeOf(m cluster.MemberID) uint16 { return uint16(m >> 48) }

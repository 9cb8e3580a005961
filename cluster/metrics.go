// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/arke-mesh/arke/internal/wire"

// dropReason says why a frame was dropped, a lease not believed, or somebody
// refused. The names are what status shows.
type dropReason uint8

// The reasons. The last three stand for eight each, one for each cause of a
// refusal.
const (
	dropMalformed dropReason = iota
	dropInboxFull
	dropNoLink // a frame of a link that is down
	dropDeltaGap
	dropTooManyLeases
	dropBadSignature
	dropBadSeal
	dropBadRecord
	dropNotAllowed                           // by its node's certificate
	dropClaimsDiffer                         // an anchor does not hold what this node has there
	dropRefused                              // by this node, as an anchor
	dropRegister     = dropRefused + causes  // an anchor refused a member of this node
	dropWatch        = dropRegister + causes // an anchor refused a watch
	dropReasons      = dropWatch + causes
)

// causes is how many there are of a refusal.
const causes = 8

// String returns the name.
func (r dropReason) String() string {
	return [dropReasons]string{
		"malformed", "inbox_full", "frame_without_link", "delta_gap",
		"lease_too_many", "lease_bad_signature", "lease_bad_seal", "lease_bad_record", "lease_not_allowed",
		"claims_differ",
		"refused_bad_proof", "refused_full", "refused_stale", "refused_bad_signature",
		"refused_yielded", "refused_far", "refused_sharded", "refused_other",
		"register_refused_bad_proof", "register_refused_full", "register_refused_stale", "register_refused_bad_signature",
		"register_refused_yielded", "register_refused_far", "register_refused_sharded", "register_refused_other",
		"watch_refused_bad_proof", "watch_refused_full", "watch_refused_stale", "watch_refused_bad_signature",
		"watch_refused_yielded", "watch_refused_far", "watch_refused_sharded", "watch_refused_other",
	}[r]
}

// because is r, the first of eight reasons, with the cause that an anchor gave.
func (r dropReason) because(cause wire.Refusal) dropReason {
	switch cause {
	case wire.Refusal_BAD_PROOF:
		return r
	case wire.Refusal_FULL:
		return r + 1
	case wire.Refusal_STALE:
		return r + 2
	case wire.Refusal_BAD_SIGNATURE:
		return r + 3
	case wire.Refusal_YIELDED:
		return r + 4
	case wire.Refusal_FAR:
		return r + 5
	case wire.Refusal_SHARDED:
		return r + 6
	}
	return r + causes - 1
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

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

// causes is how many there are of a refusal: those that have a name, and all others.
const causes = dropReason(len(named) + 1)

// named are the causes that are counted by name, in the order in which they are.
var named = [...]wire.Refusal{
	wire.Refusal_BAD_PROOF, wire.Refusal_FULL, wire.Refusal_STALE, wire.Refusal_BAD_SIGNATURE,
	wire.Refusal_YIELDED, wire.Refusal_FAR, wire.Refusal_SHARDED,
}

// String returns the name.
func (r dropReason) String() string {
	if r < dropRefused {
		return [...]string{
			"malformed", "inbox_full", "frame_without_link", "delta_gap",
			"lease_too_many", "lease_bad_signature", "lease_bad_seal", "lease_bad_record", "lease_not_allowed",
			"claims_differ",
		}[r]
	}
	whose, cause := (r-dropRefused)/causes, (r-dropRefused)%causes
	return [...]string{"refused_", "register_refused_", "watch_refused_"}[whose] +
		[causes]string{"bad_proof", "full", "stale", "bad_signature", "yielded", "far", "sharded", "other"}[cause]
}

// because is r, the first of eight reasons, with the cause that an anchor gave.
func (r dropReason) because(cause wire.Refusal) dropReason {
	if i := slices.Index(named[:], cause); i >= 0 {
		return r + dropReason(i)
	}
	return r + causes - 1
}

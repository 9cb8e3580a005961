// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/arke-mesh/arke/internal/wire"

// counters counts what was dropped or refused, by reason.
type counters map[string]uint64

func (c counters) add(reason string) { c[reason]++ }

// refusalName names the reason an anchor refuses for, as status shows it.
func refusalName(r wire.Refusal) string {
	switch r {
	case wire.Refusal_BAD_PROOF:
		return "refused_bad_proof"
	case wire.Refusal_FULL:
		return "refused_full"
	case wire.Refusal_STALE:
		return "refused_stale"
	}
	return "refused_other"
}

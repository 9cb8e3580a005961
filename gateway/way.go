// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"

	"github.com/arke-mesh/arke/cluster"
)

// way says between which networks a loan carries messages.
type way struct {
	borrower cluster.NetworkID // where they come from
	lender   cluster.NetworkID // where the loan asks
	origin   cluster.NetworkID // whose members it asks there; zero = the lender's own
}

// carries says whom a message may go to that has come through these networks, and now
// through the one that borrows. nil = to nobody: it would go round, or too far.
func (w way) carries(through []string) *cluster.Transit {
	t := &cluster.Transit{Origin: w.origin}
	for _, id := range through {
		if len(id) != len(cluster.NetworkID{}) {
			return nil
		}
		t.Passed = append(t.Passed, cluster.NetworkID([]byte(id)))
	}
	t.Passed = append(t.Passed, w.borrower)
	if slices.Contains(t.Passed, w.lender) || len(t.Passed) > cluster.MaxNetworks {
		return nil
	}
	return t
}

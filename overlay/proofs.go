// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/pace"
)

// proving is how much a peer may have this node check of what it says of itself and of
// others: certificates in place of its Hello's, and statements that are news. A unit is
// the check of a MAC. What goes beyond is dropped unseen. All that a network can have of
// bans may come at once, as it does where a node joins.
var proving = pace.Limit{Units: 100, Per: time.Second, Burst: 20 * time.Second}

// signaturePrice is what a signature costs: five a second, and a hundred at once.
const signaturePrice = 20

// proofs is what one peer has used of that.
type proofs struct {
	mu   sync.Mutex
	used pace.Meter // guarded by mu
}

// pass says whether what the peer says, of that price, is checked.
func (p *proofs) pass(now uint64, price int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used.Pass(proving, int64(now), int64(price))
}

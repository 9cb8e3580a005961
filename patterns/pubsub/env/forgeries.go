// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/pace"
)

// Forging is how many false signatures a peer may show, on paths and on messages: to
// verify one takes about 60 us, so that is about a hundredth of a processor. What it shows
// beyond is dropped unseen.
var Forging = pace.Limit{Units: 200, Per: time.Second, Burst: 5 * time.Second}

// Verifying is how many signatures of one peer are verified at all, good ones included:
// about two thirds of a processor.
var Verifying = pace.Limit{Units: 10_000, Per: time.Second, Burst: 5 * time.Second}

// maxSigners bounds the peers whose signatures, and whose false ones, are counted: as many
// as there are links for peers that call. More of them share what one may show.
const maxSigners = 1 << 16

// Signers are the peers that have shown signatures of late, and false ones.
type Signers struct{ All, forgers *pace.Meters[peer.ID] }

func newSigners() Signers {
	return Signers{pace.New[peer.ID](Verifying, maxSigners), pace.New[peer.ID](Forging, maxSigners)}
}

// Verifies says whether a signature that the link's peer shows is good. If that one has
// shown too many of late, or too many false ones, nothing is verified.
func (b *Base) Verifies(by peer.ID, check func() error) bool {
	if !b.Signers.forgers.Open(by, b.Now()) {
		b.Drops.Inc(DropForger)
		return false
	}
	if !b.Signers.All.Pass(by, b.Now(), 1) {
		b.Drops.Inc(DropSignatures)
		return false
	}
	b.Counts.Verified.Add(1)
	if check() == nil {
		return true
	}
	b.Signers.forgers.Take(by, b.Now(), 1)
	return false
}

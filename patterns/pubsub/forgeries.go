// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/pace"
)

// forging is how many false signatures a peer may show, on paths and on messages: to
// verify one takes about 60 us, so that is about a hundredth of a processor. What it shows
// beyond is dropped unseen.
var forging = pace.Limit{Units: 200, Per: time.Second, Burst: 5 * time.Second}

// verifying is how many signatures of one peer are verified at all, good ones included:
// about two thirds of a processor.
var verifying = pace.Limit{Units: 10_000, Per: time.Second, Burst: 5 * time.Second}

// maxSigners bounds the peers whose signatures, and whose false ones, are counted: as many
// as there are links for peers that call. More of them share what one may show.
const maxSigners = 1 << 16

// signers are the peers that have shown signatures of late, and false ones.
type signers struct{ all, forgers *pace.Meters[peer.ID] }

func newSigners() signers {
	return signers{pace.New[peer.ID](verifying, maxSigners), pace.New[peer.ID](forging, maxSigners)}
}

// verifies says whether a signature that the link's peer shows is good. If that one has
// shown too many of late, or too many false ones, nothing is verified.
func (b *base) verifies(by peer.ID, check func() error) bool {
	if !b.signers.forgers.Open(by, b.now()) {
		b.drops.Inc(dropForger)
		return false
	}
	if !b.signers.all.Pass(by, b.now(), 1) {
		b.drops.Inc(dropSignatures)
		return false
	}
	b.counts.verified.Add(1)
	if check() == nil {
		return true
	}
	b.signers.forgers.Take(by, b.now(), 1)
	return false
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"maps"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// To verify a signature takes about 60 us. A peer may show so many that are false, on
// paths and on messages, and as many at once after a quiet while; what it shows beyond is
// dropped unseen. That is about a hundredth of a processor. Who shows good ones is not held up:
// somebody here asks for them.
const (
	forgeryPrice = int64(time.Second) / 200
	forgeryDebt  = 1000 * forgeryPrice
	maxForgers   = 4096
)

// forgeries are the false signatures that peers have shown of late: a bucket for each,
// by virtual scheduling (ITU-T I.371). It may be used concurrently.
type forgeries struct {
	mu     sync.Mutex
	paidAt map[peer.ID]int64 // guarded by mu; when all that the peer has shown is paid for
}

// tolerates says whether what the peer shows is looked at.
func (f *forgeries) tolerates(p peer.ID, now int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paidAt[p]-now < forgeryDebt
}

// note takes in that the peer has shown one.
func (f *forgeries) note(p peer.ID, now int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.paidAt) >= maxForgers {
		maps.DeleteFunc(f.paidAt, func(_ peer.ID, at int64) bool { return at <= now })
	}
	if _, known := f.paidAt[p]; !known && len(f.paidAt) >= maxForgers {
		return
	}
	if f.paidAt == nil {
		f.paidAt = make(map[peer.ID]int64)
	}
	f.paidAt[p] = max(f.paidAt[p], now) + forgeryPrice
}

// verifies says whether a signature that the link's peer shows is good. If that one has
// shown too many false ones of late nothing is verified.
func (b *base) verifies(by peer.ID, check func() error) bool {
	if !b.forgeries.tolerates(by, b.now()) {
		b.drops.Inc(dropForger)
		return false
	}
	b.counts.verified.Add(1)
	if check() == nil {
		return true
	}
	b.forgeries.note(by, b.now())
	return false
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// Limits of tunnels, in bytes.
const (
	// firstWindow is the credit of a new tunnel, poorWindow that of one that
	// is opened when most of the node's budget is given away. A tunnel whose
	// reader keeps up grows to maxWindow.
	firstWindow = 64 << 10
	poorWindow  = 4 << 10
	maxWindow   = 4 << 20

	// maxChunk is the longest part of a message in one frame, sealed or not.
	maxChunk = wire.MaxChunk - security.StreamOverhead
	// minCost bounds how many short chunks there can be for some credit: each
	// costs memory beside its bytes.
	minCost = 64
	// A sender with less credit waits for more, if more is left of its
	// message: a receiver that has read all never leaves it with so little.
	minPiece = 512

	// parkBytes is what may wait for room in a link's lane, for all tunnels
	// that can't wait themselves together.
	parkBytes = 1 << 20
	// earlyFrames bounds what comes of a tunnel before its opener has the
	// answer, from each peer, beside the bound in bytes that its credit is.
	// earlyPeers bounds these: as many as an opening asks, and one that has
	// nothing to do with it.
	earlyFrames   = firstWindow/minCost + 16
	earlyOverhead = wire.TunnelHeadSize + security.StreamOverhead
	earlyPeers    = 4
	// maxCredit is more than anybody means.
	maxCredit = 1 << 31
)

// Times of tunnels.
const (
	// growTime is how fast a window must be read to grow.
	growTime = time.Second
	// confirmGrace is how long after the opening's deadline a member waits for
	// a word of the opener. It looks every sweepTime while it waits for any.
	confirmGrace = time.Second
	sweepTime    = time.Second
	// openTime bounds that wait for an opening without a deadline.
	openTime = time.Minute
	// pumpPause is until the next try when there is no worker to spare.
	pumpPause = time.Millisecond
)

// cost is the credit that a chunk of n bytes uses up.
func cost(n int) int { return max(n, minCost) }

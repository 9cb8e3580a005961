// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"time"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// Limits of tunnels; those of their credit are in package credit.
const (
	// maxChunk is the longest part of a message in one frame, sealed or not, in
	// bytes.
	maxChunk = wire.MaxChunk - security.StreamOverhead
	// smallMessage is up to how many bytes a message may share a frame with
	// others.
	smallMessage = 16 << 10
	// lineBytes is what may stand in line for room in a link's lanes, for all
	// tunnels whose programs can't wait themselves together.
	lineBytes = 1 << 20
	// earlyFrames bounds what comes of a tunnel before its opener has the
	// answer, from each peer, beside the bound in bytes that its credit is.
	// earlyPeers bounds these: as many as an opening asks, and one that has
	// nothing to do with it.
	earlyFrames   = credit.FirstWindow/credit.MinCost + 16
	earlyOverhead = wire.TunnelHeadSize + security.StreamOverhead
	earlyPeers    = 4
)

const (
	// confirmGrace is how long after the opening's deadline a member waits for a
	// word of the opener; openTime bounds that wait for an opening without one.
	confirmGrace = time.Second
	openTime     = time.Minute
	// restTime is how often tunnels are looked for that have sent nothing since.
	restTime = 10 * time.Second
)

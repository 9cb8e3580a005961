// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// LinkProtocol names what connections between nodes carry, in their TLS handshake.
// The version inside it changes with the multiplexer, and when not even Hello can be
// read any more; otherwise Hello negotiates.
const LinkProtocol = "/arke/link/1"

// MaxFrameBody is the largest body that travels as one frame, in bytes. What
// is larger goes in fragments.
const MaxFrameBody = wire.MaxPayload

// Times of the link protocol that are not configurable.
const (
	dialTimeout    = 5 * time.Second       // for a connection; longer over long ways
	helloTimeout   = 5 * time.Second       // from a stream's beginning to its Hello; likewise
	helloSoon      = time.Second           // the same for a peer that has shown no certificate
	byeTimeout     = time.Second           // for the peer to take the last words of a refused stream
	busyWait       = 50 * time.Millisecond // for a call of the peer that comes first; doubled each time
	shutdownLimit  = 5 * time.Second       // Shutdown waits no longer for one peer
	connectTimeout = 5 * time.Second       // one dial of a candidate
)

// Bounds of what peers can make this node keep.
const (
	maxHandshakes     = 256 // streams that have not said Hello yet, of peers that have shown a certificate
	maxPeerHandshakes = 4   // the same for one peer

	maxUncertifiedHandshakes = 128 // the same for all others together; each has one
	maxBeforeHello           = 4   // frames that may come instead of Hello: notices, a goodbye
)

// maxLinkTime bounds what is believed of a peer's clock: 146 years.
const maxLinkTime = 1 << 62

// Codes of Goodbye frames and stream resets. Closed list; do not reorder.
const (
	codeShutdown   uint32 = 1  // the node is going away
	codeVersion    uint32 = 2  // no common version
	codeDuplicate  uint32 = 3  // another live node uses the peer id
	codeProtocol   uint32 = 4  // what was received can't be understood
	codeTimeout    uint32 = 5  // Hello did not come in time
	codeSilent     uint32 = 6  // heartbeats were not answered
	codeFull       uint32 = 7  // a bound on streams is reached
	codeSuperseded uint32 = 8  // another connection of this link is used instead
	codeBroken     uint32 = 9  // the connection broke
	codeExcluded   uint32 = 10 // the peer is excluded from the network

	codeNotAdmitted uint32 = 11 // the peer shows no certificate that lets it in
	codeSpare       uint32 = 12 // neither side needs the link
)

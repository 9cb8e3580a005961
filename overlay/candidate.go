// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/libp2p/go-libp2p/core/peer"

// Source says where a candidate came from.
type Source uint8

// The sources of candidates.
const (
	SourceSeed       Source = iota + 1 // configured; may be a DNS name or lack a peer id
	SourceLAN                          // mDNS
	SourceRemembered                   // known from last time, from the data directory
	SourcePeer                         // named by a peer, or a peer that was lost
)

// Candidate is a node that might be reached. Peer is empty for a seed that
// names only an address. Addrs are multiaddrs as text; a seed may also be
// "host:port".
type Candidate struct {
	Peer   peer.ID
	Addrs  []string
	Source Source
}

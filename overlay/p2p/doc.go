// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package p2p, an inner part of Arke that makes no promise to users, puts
// libp2p behind the overlay's seam: Host is an overlay.Transport, Host.Router
// an overlay.Router. It is the only package that knows libp2p beyond its core
// packages, and it knows nothing of frames, lanes or clusters.
//
// # Connections
//
//  1. TCP only: a killed peer is seen within milliseconds.
//  2. The dialler greets: with its first TLS record goes a MAC of it, by a key
//     that all nodes of the network have. Until that is checked the acceptor says
//     nothing, holds little, and computes two hashes. Who waits, who is sent away
//     and who is worked on is decided by a door. On Linux the kernel keeps those to
//     itself who do not even begin with as much. (sieve_linux.go, greeting.go, door.go,
//     internal/crowd; doorkeeper.go drives them)
//  3. TLS 1.3 without negotiation. Each certificate carries proof that its owner
//     belongs to the network, and each side checks the other's. Who has none gets
//     an alert and nothing else: no multiplexer, no identify, no DHT.
//     (certificate.go, tls.go, upgrader.go)
//     In the same certificate is the node's own, of an issued network. Who shows none that
//     lets it in may open a link, to be told so, and nothing else: no identify, no DHT.
//     (routes.go)
//  4. Multiplexed at once, by our own package mux: the ALPN id says so. The link's
//     stream is written to TLS by whoever sends and read from it by whoever handles
//     frames, with nothing between; libp2p's few streams travel beside it.
//     (upgrader.go)
//  5. Link streams are no streams of libp2p's swarm: opened without a word, they
//     exist for the peer with the first bytes. A Write returns when the kernel has
//     taken it. (stream.go)
//
// TLS 1.3 lets the dialler finish before the other side has looked at its
// certificate. So a dialled peer is reported, and Connect returns, with the
// first byte it sends.
//
// # Router
//
// kad-dht keeps the routing table; it stores nothing, and the questions of others are
// answered by our own small handler (answers.go). Peers leave the table when their last connection ends. The
// lookups are our own (lookup.go): they end when the few closest peers have
// answered, and nobody waits for a hung one. A new connection is used at once
// to ask for our own neighbourhood, so parts of a network that were apart find
// all of each other.
//
// # Finding the first peer
//
// Connect takes seeds in any form and learns the peer ids that they lack with
// a TLS handshake that is no connection to the other side (connectany.go).
// StartDiscovery announces and asks by mDNS (mdns.go).
//
// # Guarantees
//
// The handler's calls for one peer never overlap: PeerUp, streams, PeerDown.
// They are made on goroutines that exist only while there is something to say.
// Close delivers what was written before it, as far as peers take it within
// half a second, and leaves no goroutine. Whatever is refused or dropped is
// counted by name, see Host.Counters.
//
// # Pitfalls
//
// libp2p's defaults are made for a public network of strangers. Where they
// would bite, a comment that begins with "Pitfall" names what is done about
// it. One has no place in the code: govulncheck reports GO-2024-3218 for every
// kad-dht release. It is about forged records and crowding next to a key; we
// keep no records, only admitted nodes take part, and cluster ids change.
package p2p

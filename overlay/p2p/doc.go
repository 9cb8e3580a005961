// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package p2p, an inner part of Arke that makes no promise to users, puts libp2p behind the
// overlay's seam: Host is an overlay.Transport, Host.Router an overlay.Router. It is the only
// package that knows libp2p beyond its core packages, and it knows no frames, lanes or clusters.
//
// # Connections
//
//  1. TCP only: a killed peer is noticed within milliseconds.
//  2. The dialler greets: its first TLS record is accompanied by a MAC under a key that all
//     nodes of the network have. Until it is verified the acceptor sends nothing, holds little,
//     and computes two hashes. A door decides which connections wait, are closed, or are
//     processed. On Linux the kernel withholds connections without enough first bytes.
//     (sieve_linux.go, greeting.go, door.go, internal/crowd; doorkeeper.go drives them)
//  3. TLS 1.3 without negotiation. Each certificate proves that its owner belongs to the
//     network, and each side checks the other's. A peer without that proof gets an alert, and
//     neither a multiplexer nor identify nor the DHT. (certificate.go, tls.go, upgrader.go) The
//     same certificate contains the node's own certificate of an issued network. A peer without
//     a valid one may only open a link, on which it learns why it is refused. (routes.go)
//  4. Multiplexed at once, by package mux: the ALPN id names it. The sender's goroutine writes
//     the link's stream to TLS, and the goroutine that handles frames reads it, with nothing in
//     between; libp2p's few streams travel beside it. (upgrader.go)
//  5. Link streams are not streams of libp2p's swarm: the peer learns of one with its first
//     bytes. A Write returns when the kernel has accepted it. (stream.go)
//
// In TLS 1.3 the dialler finishes before the other side has checked its certificate. So a
// dialled peer is reported, and Connect returns, with the peer's first byte.
//
// # Router
//
// kad-dht keeps the routing table and stores nothing; a small handler of our own answers
// queries (answers.go). Peers leave the table when their last connection ends. Lookups are our
// own (lookup.go): they end when the few closest peers have answered, and wait for no hung one.
// A new connection is used at once to look up this node's neighbourhood, so parts of a network
// that were apart find each other completely.
//
// # Finding the first peer
//
// Connect accepts seeds in any form. It learns a missing peer id with a TLS handshake that the
// other side does not count as a connection (connectany.go). StartDiscovery announces and asks
// by mDNS (mdns.go).
//
// # Guarantees
//
// The handler's calls for one peer never overlap: PeerUp, streams, PeerDown. Their goroutines
// exist only while there is something to report. Close delivers earlier writes, as far as peers
// accept them within half a second, and leaves no goroutine. Every refusal and drop has a named
// counter, see Host.Counters.
//
// # Pitfalls
//
// libp2p's defaults suit a public network of strangers. A comment that begins with "Pitfall"
// marks each place that changes one. One has no place in the code: govulncheck reports
// GO-2024-3218 for every kad-dht release. It is about forged records and crowding next to a
// key; Arke keeps no records, only admitted nodes take part, and cluster ids change.
package p2p

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package crowd knows, of connections that wait to be let in, which source has
// most of them. When there are too many, one at random of that source goes: so
// who opens thousands sends away its own, and who opens one is let in.
//
// Both doors use it: of the port for nodes (overlay/p2p), where a source is a
// prefix of an address, and of a relay's sockets, where it is a user or an address.
//
// A [Table] does the same for what peers have a node remember: the largest holder
// gives way. There a source is a peer.
package crowd

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package tcp leads TCP connections through tunnels: a local port leads to a
// cluster ([Forwarder]), and a TCP service becomes a member of one
// ([Exposer]). It knows no protocol above TCP and keeps nothing.
//
//  1. The Forwarder accepts a connection and opens a tunnel for it. If that
//     fails, the connection is reset, as by a port on which nobody listens.
//  2. The Exposer's member accepts the tunnel and connects to the service. If
//     that fails, it resets the tunnel, and so is the connection.
//  3. On both sides a [Splicer] copies: what one read of the connection
//     returned, at most 64 KiB, is one message of the tunnel, and each message
//     is written as it comes. Nobody waits for more.
//  4. The end of one direction (FIN) ends that direction of the tunnel and, on
//     the far side, of the connection. A reset (RST) resets everything, and so
//     does the loss of a node. A connection is closed in good order only when both
//     directions ended so: until then the kernel resets it if this process is killed.
//  5. When the member ends both directions early, the client has a second to read
//     what came: what it still sends is dropped. A service that closes before it has
//     read everything is read to its end before the tunnel is reset.
//
// The one who reads slowly slows the one who writes down, through the tunnel's
// credit: a Splicer holds at most 64 KiB of each direction, and of a direction
// in which nothing moves, nothing.
//
// Goroutines: two for each connection, which have ended when Splice returns;
// those of a Forwarder have ended when Shutdown returns, those of an Exposer
// when Close does.
package tcp

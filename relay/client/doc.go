// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package client, an inner part of Arke that makes no promise to users,
// attaches a program to the relay on its machine. A [Client] is a
// patterns.Messenger like an embedded node, with the same outcomes and the same
// errors, so that a program switches by one line. It runs a node's pattern
// engines, as a leaf: over one session (package overlay/session) whose other
// end is the relay, which picks, and speaks to the network. Package relay
// specifies the protocol.
//
// # When a connection breaks, and when the relay is gone
//
// The client attaches again by itself: within 10 ms, or up to 200 ms if connections
// did not last for a second; then after pauses of 20 ms, doubled up to 200 ms, less up
// to a half. Each has a part at random so that the clients of one relay do not come
// back in step. While both processes live that is only a delay: the session goes on, and
// nothing is lost. It ends when the relay says Goodbye, is another one, or is not
// there: refuses two dials, or is not heard for 15 s.
//
// Registrations and subscriptions come back in a new session, in order, members
// under new ids; each subscription is told, by a Gap of unknown size, that it may
// have missed something. What becomes of calls and of Publish:
//
//   - A call that was not written, or of which the relay said on its way out that
//     it had not looked at it, is made again.
//   - Any other request under way is made again if it is idempotent, and ends
//     with patterns.ErrInterrupted if it is not.
//   - A call that finds no relay waits for it, for Config.RelayWait (2 s) at
//     most; then it ends with patterns.ErrUnreachable.
//   - The deadline of the call holds throughout.
//
// A relay that is shut down in good order fails no call and loses no publication.
// Handlers that run when a session ends see their context end; their answers have
// nowhere to go. Handlers of pushes and broadcasts run on: what they have was
// accepted. Tunnels end with patterns.ErrInterrupted.
//
// # Topics
//
// Publish returns when the message is in the session's lane, so a full lane is
// what slows a publisher down, and there is no round trip; patterns.Confirm asks
// for one. What the relay refuses afterwards, and what is lost with it, is counted
// and told to Config.Refused. A subscription's queue is the program's own, with
// its limits; one that blocks publishers gives its relay credit as it takes.
//
// # The way of a frame
//
//  1. An engine, the publisher or the claims send through the link, into the lane
//     of the session there is.
//  2. The session's writer takes it to the socket. Its reader, on the attacher's
//     goroutine, hands what comes to the engines, topics, claims and publisher;
//     nothing there waits.
//  3. Handlers and subscribers run on workers, from queues with their own limits.
//     Handlers that are brief run on the reader.
//
// # Goroutines
//
// The attacher's loop, which dials and reads; each session's writer; up to 32,768
// workers, while there is work. [Client.Close] waits for all of them, handlers
// included.
package client

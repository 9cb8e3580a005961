// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package client attaches a program to the relay on its machine. A [Client] is
// a patterns.Messenger like an embedded node, with the same outcomes and the
// same errors, so that a program switches by one line. It links no network
// code; package relay specifies the protocol.
//
// # When the relay is gone
//
// A client attaches again by itself: it tries at once, then after pauses of an
// eighth of the time that the relay has been away, 10 ms to 1 s, less up to a
// half at random so that the clients of one relay do not come back in step.
//
// Its registrations come back with the relay, under new member ids, and so do
// its subscriptions, which are told by a Gap what they missed: exactly how much,
// if the relay itself was there and only connections broke, one or many, each
// for at most 10 s; else that nobody knows. No number would be true of a relay
// that was replaced: how much of what publishers had counted for it reached its
// clients went down with it, and who began to publish while it was away has
// counted nothing for it.
//
// What becomes of calls and of Publish:
//
//   - A call whose bytes no relay can have seen whole, or of which the relay
//     said on its way out that it had not looked at it, is made again.
//   - Any other request under way is made again if it is idempotent, and ends
//     with patterns.ErrInterrupted if it is not.
//   - A call that finds no relay waits for it, for Config.RelayWait (2 s) at
//     most; then it ends with patterns.ErrUnreachable, or ErrInterrupted if an
//     earlier try may have run.
//   - The deadline of the call holds throughout.
//
// A relay that is shut down in good order fails no call: the client hears which
// ones were not looked at. Handlers that run when the relay is lost see their
// context end; their answers have nowhere to go. Handlers of pushes and
// broadcasts run on: what they have was accepted.
//
// A tunnel belongs to its session: if the relay is lost, it ends with
// patterns.ErrInterrupted. A relay that shuts down in good order waits for the
// tunnels that are open, as Client.Shutdown does.
//
// # Topics
//
// Publish waits until the relay's node has published; TryPublish has up to
// 1,024 messages, or 4 MiB, under way, in order with those of Publish. It does not
// wait for the relay: a loss is told by the next one, by Shutdown, or by Close. A
// subscription's queue is shared between the relay and the client, which has half
// of it, but no more than 1,024 messages and 4 MiB: who does not take what comes
// fills its own queue and holds up nobody, neither in the network nor here.
//
// # Tunnels
//
//  1. Send waits for credit, which the relay gives as its node takes the chunks
//     and that as the other side reads, copies a chunk, and puts it in line.
//  2. The writer serves the line in turns of 64 KiB, behind everything else.
//  3. What comes is bounded by the credit that was given: 80 KiB at first, and up
//     to 1 MiB while the program keeps up. It waits until Receive takes it; only
//     then does the relay get credit again, and hear how many bytes were read.
//
// # Goroutines
//
// A client runs one that keeps it attached and reads, for each session a
// writer, a watchdog and one that registers again, and one for each request
// that a handler answers, each tunnel that a handler has, and each subscription
// that has something to do. A tunnel that the program opened has none.
// [Client.Close] waits for all of them, handlers included.
package client

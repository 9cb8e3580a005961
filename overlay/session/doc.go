// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package session, an inner part of Arke that makes no promise to users, is
// what two programs have while neither forgets the other: four lanes each way
// on which nothing is lost or doubled, whatever connection carries them at the
// moment. Two nodes have one (package overlay finds the peer, dials, and says
// Hello), and so have a relay and a program that is attached to it.
//
// It knows no peers, no TLS, no libp2p: a connection is a [Conn], a stream of
// bytes. The Hellos, how one dials and what a session is called are its owner's.
//
// # The way of a message
//
//  1. Send reserves room in its lane's window and copies the message into a chunk
//     of the lane's log (outbox.go, sendlog.go, lanelog.go). That is the only copy,
//     and what is kept. More than 64 KiB are cut into fragments (bulkqueue.go).
//  2. The writer of the connection takes a batch by priority, at most 256 KiB, as
//     soon as the one before is written (attachment.go). Where nothing was written for
//     a moment the sender writes in its place (inline.go), and what is sent while a
//     reader handles frames that came together waits for its end (rounds.go).
//  3. The peer's reader counts the frame, puts fragments together (reassembly.go)
//     and calls Config.Handler (inbox.go). What that gives to Last, because it is brief,
//     the reader runs once it has handled all that has come (standby.go).
//  4. The count goes back in an Ack, with something that is written anyway, or
//     alone after 100 ms or a quarter of a window. What was acknowledged leaves
//     the log, which makes room.
//
// # A connection breaks
//
// Run returns. The session goes on: Send queues what the windows allow, Withdraw
// takes back what was not written. Its owner dials again as [Reconnect] says, calls
// Detach, which gives the counts for its Hello once nothing of the old connection
// is handled any more, and Run with the counts in the peer's. What the peer has
// not received goes again. So each frame is handled once.
//
// The side that dialled names the session in its Hello (the one it has, or a new
// id and "fresh"); the other one answers with that id, if it has it or may begin
// it, or with a new one. Whose session is not in the answer has lost it: it calls
// End, and begins the new one with a New.
//
// The session ends with a Goodbye (Leave there, Run's GoodbyeError here), or when
// its owner calls End: the peer is another instance, Reconnect is over, Run returned
// ErrPoison. Withdraw still answers then, and knows what a Goodbye said.
//
// # Goroutines
//
// Run's caller reads; a second one writes (Config.Go) and has returned before Run
// does. From the first use of Last on goroutines of Config.Go read, one at a time: who
// runs something for more than 4 ms is replaced, and ends when that returns, perhaps after
// Run. Timers run for a moment: of acknowledgements (one, armed when something
// has come) and of heartbeats (one, while somebody calls for them with Want), and of the
// Standby, while a reader runs something.
//
// # Guarantees
//
// A lane is in order, but in lane bulk large messages take turns. What is queued
// arrives once unless the session ends. Nothing that is not acknowledged is given
// up. A lane holds at most its window, and one message of any legal size where
// that is larger.
package session

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package overlay connects this node with others: links that carry frames in
// four lanes, heartbeats on those that somebody cares about, and a search for
// peers that never quite ends. It does not know what a cluster, a topic or a
// request is, and it does not decide whom to talk to: upper layers open links
// to the peers they need.
//
// The package is written against the five interfaces of seam.go. In production
// package overlay/p2p (libp2p) stands below, in simulation package sim.
//
// # The way of a frame
//
//  1. Link.Send encodes it into a chunk of the lane's queue (sendqueue.go);
//     more than 64 KiB is cut into fragments first (bulkqueue.go).
//  2. The writer of the link's stream (writer.go) takes a batch of at most
//     256 KiB, lanes by priority, and writes it at once. It takes the next when
//     the stream has taken this one; what is queued meanwhile leaves together.
//  3. The reader at the other side (reader.go) cuts the stream into frames,
//     puts fragments together (reassembly.go), and calls the handler of the
//     kind, on its own goroutine.
//
// # Streams and sessions
//
// A link has one stream, opened on demand by either side. Each direction
// begins with Hello, which negotiates the version. If both sides dial at the
// same time there are two streams; both sides choose the one that the lower
// peer id opened, and read the other one to its end first (converge.go), so
// that nothing is lost or overtaken.
//
// A session (session.go) is the time during which a link loses nothing. It
// ends when any of its streams breaks, or the peer says goodbye: LinkDown. The
// next one has a new number. What was sent in a session and not confirmed by
// the layer above may or may not have arrived when it ends.
//
// # Guarantees
//
//   - A frame that Send accepted arrives at most once. Within a session it
//     does arrive, in the order of its lane; large messages and small ones on
//     lane bulk may overtake each other.
//   - Events of one link come in order. LinkUp comes before the first frame of
//     a session is handled, LinkDown after the last.
//   - What peers send is bounded in memory: frames of 68 KiB, incomplete
//     messages of twice Config.MaxMessage per link, few streams without Hello.
//     What is dropped is counted by reason (metrics.go).
//   - A peer that answers no heartbeat is suspect 1.2 s after its last byte
//     and given up after 10 s; a node that was stopped itself suspects nobody
//     (liveness.go). Only held links beat; see Link.Hold.
//
// # Goroutines
//
// Two for each link that is up (a reader, which waits for its writer), one for
// each dial under way, one for the link to ourselves. Timers run short
// functions. Close waits for all of them. No lock is held while anything
// blocks: what is decided under Link.mu is done after it is released
// (Link.unlock), and other goroutines are woken by Exec.Wake only.
//
// # Cores
//
// Decisions are in types without goroutine, lock or clock, each with a test of
// its own: sendQueue, bulkQueue, reassembly, liveness, linkClock, judge,
// candidates (with patrol.go), addressBook.
package overlay

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package overlay, an inner part of Arke that makes no promise to users,
// connects this node with others: links that carry frames in four lanes,
// heartbeats on those that somebody cares about, and a search for peers that
// never quite ends. It does not know what a cluster, a topic or a request is,
// and it does not decide whom to talk to: upper layers open links to the peers
// they need.
//
// The package is written against the interfaces of seam.go. In production
// package overlay/p2p (libp2p) stands below, in simulation package sim.
//
// # Links and sessions
//
// A link has one stream at a time, opened on demand by either side, and a session
// (package session) that goes from one stream to the next: its doc.go tells the way
// of a message. Each direction of a stream begins with Hello (hello.go), which
// negotiates the version, names the session and says how much of it was received.
// What a Hello means is decided in meet (hello.go): if both sides dial at the same
// time, the stream of the lower peer id is used; otherwise a later Hello takes the
// session over.
//
// A stream that breaks without goodbye is LinkSuspect; both sides dial again, and
// LinkRecovered says that the session goes on. LinkDown says that it ended: the
// peer said goodbye, or knows nothing of it; every address refused, twice; nothing
// was heard for 15 s; or what waits breaks connections. The next session has a new
// number. What was sent and not confirmed by the layer above may or may not have
// arrived when one ends; Link.Withdraw knows what certainly has not.
//
// A link that neither side needs ends (spare.go): nobody holds it, or has asked for it with
// Need, nothing waits on it, and nothing has moved on it for 5 to 20 s. Each
// side says what it thinks, and the one with the lower id ends it, with ErrSpare, which says
// nothing against the peer. Eight links stay in any case.
//
// # Clocks
//
// A Hello says what the sender's wall clock shows; a Beat says it again when the clock
// was set, and once an hour. From 30 s of difference on there is a line in the log.
// From security.ClockTolerance on the peer is off; when more than half of the peers are,
// Overlay.Clocks says so, and the layers above do not say "no member". Whose clock is
// wrong is known if more than half agree against this node, and at least two do. Overlay.Walls
// are the times that count: while most peers differ, theirs counts beside this node's own, and
// for a minute after its clock was set, what it showed before.
//
// # Guarantees
//
//   - A frame that Send accepted arrives at most once. Unless the session ends it
//     does arrive, in the order of its lane; large messages and small ones on
//     lane bulk may overtake each other.
//   - Events of one link come in order. LinkUp comes before the first frame of
//     a session is handled, LinkDown after the last.
//   - What peers send is bounded in memory: frames of 68 KiB, incomplete
//     messages of three times Config.MaxMessage per link, few streams without Hello.
//     What is dropped is counted by reason (metrics.go).
//   - A peer that answers no heartbeat is suspect 1.2 s after its last byte, later
//     where the round trip is long; after 10 s another connection is tried. A node
//     that was stopped itself suspects nobody. Only held links beat; see Link.Hold.
//
// # Goroutines
//
// Two for each link that is up (a reader, which waits for its writer), a third one where
// a reader has run what it was given (package session), one for each dial under way, one for the link to ourselves. Timers run short
// functions. Close waits for all of them. No lock is held while anything
// blocks: what is decided under Link.mu is done after it is released
// (Link.unlock, internal/after), and other goroutines are woken by Exec.Wake only.
//
// # Cores
//
// Decisions are in types without goroutine, lock or clock, each with a test of
// its own: meet (what a Hello means), reconnect (when a peer is dialled, when a
// session is given up), spare (whether anybody needs a link), candidates, clocks, addressBook, and those of package session.
// Link drives the first two: sessions is what others use of it, stream what a
// connection does until it has joined.
package overlay

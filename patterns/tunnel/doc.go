// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package tunnel is the tunnel pattern: an ordered stream of messages in both
// directions between a caller and one member, at the pace of whoever receives.
// Package patterns has the promises. It is not a transport: it does not choose
// members, and asks for one as a request does (package request); it opens no
// streams below, but shares the links that all patterns share.
//
// # The way of a message
//
//  1. Send takes the senders' turn, waits for credit, and cuts the body into
//     chunks that fit a frame and the credit (pieces.go). A sealed tunnel seals
//     each. The chunk goes to lane bulk of the link, whose room is granted in the
//     order of asking: tunnels take turns.
//  2. Who can't wait (TrySend, Offer, ends, and credit if ever its lane is full)
//     leaves it to the peer's outlet, which has a worker while there is
//     something to send (outlet.go).
//  3. At the other side the goroutine that reads the link finds the tunnel and
//     puts the chunk into its queue, if there was credit for it (window.go). A
//     message of one chunk is never copied, unless it is short and for a relay,
//     whose memory for it goes round (buffers.go).
//  4. Receive takes chunks until the message is whole, ReceiveTo hands on each as
//     it comes. What was taken is given back as credit, a quarter of a window at
//     a time. A window whose reader keeps up doubles, as far as the node's budget
//     goes (purse.go).
//
// # How it begins and ends
//
// An opening is a request of pattern tunnel, with an id and the first credit in
// its body. At the member Accept gives it a place and has a handler run; the
// opener, once it has the answer, sends some frame at least: a member that does
// not hear of it gives the tunnel up. What a member sends before the opener has
// the answer is kept within its credit (opening.go).
//
// Each side ends its direction behind its data (ends.go); Close also says that
// nobody receives, so that the other side's direction ends, too. A reset may
// overtake data. A tunnel lives on one session of its link: when that is lost, it
// is ErrInterrupted, and what came can be received still.
//
// # Guarantees
//
//   - What is received is a prefix of what was sent, message by message; it is
//     all of it when Receive returns io.EOF.
//   - What came and was not received is bounded by the windows, whose sum is
//     bounded by Config.BufferBytes. What waits for a lane is bounded there, and
//     by 1 MiB, or one message, per peer for those who can't wait. One tunnel never
//     fills a lane.
//   - A peer that sends without credit, or behind its end, loses the tunnel.
//   - Every frame of a sealed tunnel is sealed by the end that says it, for that
//     tunnel (security.Stream). Chunks and ends are numbered together: what is left
//     out, repeated, moved or made up, an end too early among it, ends the tunnel
//     with patterns.ErrUnauthorized, never with io.EOF. So does credit or a reset
//     that was made up. Credit is told as a total: an old or repeated one gives
//     nothing. A reset's cause, code and text can't be read or replaced. Whoever
//     sits between can still cut, delay or hold back everything, so a tunnel may
//     be interrupted or stand still; and a reset without a seal, which is all that
//     an opener can send whose opening failed, ends the member's side as
//     interrupted until it has heard from the opener. Later it is counted and
//     ignored.
//
// # Cost
//
// An idle tunnel takes 1.5 KB of heap, both ends together, and no goroutine
// (TestTenThousandIdleTunnels). A message of one chunk costs no allocation beside
// the body that the link's reader makes, and none if it is short and for a relay;
// that of a long chunk is read into again once ReceiveTo has written it, or a relay
// has passed it on. One tunnel between two nodes on
// loopback, beside a bare libp2p stream in the same run (go run ./tests/measure
// -only tunnel; two cores that were busy otherwise, too):
//
//	1 KB messages    262,000 to 526,000 a second, the stream 115,000 to 129,000
//	64 KiB messages  4,400 to 10,600 a second, the stream 10,900 to 12,800
//
// # Goroutines
//
// None for a tunnel that is idle, and none of its own but outlets at work.
// Handlers run on the Exec's workers, Notify's functions on whoever has news. A
// timer runs while openers have yet to say a word.
package tunnel

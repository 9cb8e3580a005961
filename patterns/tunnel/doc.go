// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package tunnel, an inner part of Arke that makes no promise to users, is the
// tunnel pattern: an ordered stream of messages in both directions between a
// caller and one member, at the pace of whoever receives. Package patterns has
// the promises. It is not a transport: it does not choose members, and asks for
// one as a request does (package request); it opens no streams below, but
// shares the links that all patterns share.
//
// # The parts
//
//   - credit.Window, credit.Balance and credit.Budget decide about flow control;
//     ends (ends.go) about who has ended what; state (state.go) what a frame means;
//     junction (junction.go) what passes through a relay, and credit.Passing what
//     passes through a gateway that can't open it. They are pure.
//   - codec lays out, reads and seals frames. A port is how an endpoint reaches its
//     other side, which is a remote: a peer, or a client.
//   - Tunnel is the shell of one end, with a sender and a receiver for those who
//     wait; opening and Accept make it; table knows all of them.
//   - Hop and Splice join tunnels of attached clients with those of links; Passages
//     and Passage (passage.go) sealed ones of two links.
//
// # The way of a message
//
//  1. Send takes the senders' turn, waits for credit, and cuts the body into
//     chunks that fit a frame and the credit. A sealed tunnel seals each. The
//     chunk goes to lane bulk of the link, whose room is granted in the order of
//     asking: tunnels take turns. A message of up to 16 KiB that finds the one
//     before still waiting there shares a frame with those that follow, unless
//     the tunnel is sealed.
//  2. What can't wait (TrySend, ends, credit, resets) stands in line for room
//     without a goroutine, bounded per peer.
//  3. At the other side the goroutine that reads the link finds the tunnel and
//     puts the chunk into its queue, if there was credit for it. A message of one
//     chunk, or of a frame of several, is never copied.
//  4. Receive takes chunks until the message is whole, ReceiveTo hands on each as
//     it comes. What was taken is given back as credit, a quarter of a window at
//     a time. A window whose reader keeps up doubles, as far as the budget goes.
//     A stream of bytes (DeliverTo) gets what comes from the goroutine that reads
//     the link, as long as it takes it without waiting.
//
// # How it begins and ends
//
// An opening is a request of pattern tunnel, with an id and the first credit in
// its body. At the member Accept gives it a place and has a handler run; the
// opener, once it has the answer, sends some frame at least: a member that does
// not hear of it gives the tunnel up. What a member sends before the opener has
// the answer is kept within its credit (opening.go).
//
// Each side ends its direction behind its data; Close also says that nobody
// receives, and how much was read, so that the other side's direction ends, too, and
// its program learns whether something was dropped. A tunnel that both sides have ended
// is kept until what came is read: its handler's context, its place and its window last
// as long. A reset may overtake data. A tunnel lives as long as the session of its link:
// a connection that breaks is a delay. When the session ends it is ErrInterrupted, and what came
// can be received still.
//
// # Through a relay
//
// A client runs an Engine of its own; its one link leads to its relay, and its
// frames are those of links. The relay has a Hop for each client's session, and
// for each of its tunnels a Splice: frames come in with one id and go out with
// another one. No chunk is copied or kept, but in the lane that it goes to, or in
// line for room there. Credit is end to end: the relay gives each side what the
// other one has given, and holds back only what the client's share of memory
// (HopConfig.BufferBytes) would not hold if all of it stood in line. Ends and
// resets pass in their order; the end of either session is ErrInterrupted at the
// other side. A tunnel whose cluster has an explicit key is sealed on the node's
// link and plain on the client's: the splice seals and opens.
//
// What a relay does:
//
//	hop := tunnels.NewHop(HopConfig{Conduit: session, …})    // a client has attached
//	hop.Handle(kind, body)                                   // a frame of kinds TunnelData … TunnelReset
//	hop.Close()                                              // its session has ended
//
//	// The client opens a tunnel: its Request of pattern tunnel, not sealed.
//	splice, tail, err := hop.Open(cluster, request.Tail)     // error: answer that
//	requests.Start(request.Ask{…, Pattern: tunnel, Tail: tail}, func(a request.Answer, err error) {
//		if err != nil {
//			splice.Abandon()                         // and answer err
//		} else {
//			tail, err := splice.Opened(a, a.Tail)    // answer it, or err
//		}
//	})
//
//	// A tunnel is opened to the client's member: request.Forwarder's Deliver.
//	splice, tail, err := hop.Deliver(Arrival{d.Server, d.Link, …, d.Tail})   // error: d.Answer it
//	…                                                        // Request to the client with tail
//	tail, err := splice.Served(reply.Tail)                   // on its Reply with OutcomeOK: d.Answer tail, or err
//	splice.Abandon()                                         // on any other outcome, on Forwarder.Cancel
//
// The Reply to a client and d.Answer of an accepted tunnel belong on lane bulk, so
// that they come before the data behind them; Served and d.Answer are called on
// the goroutine that reads the client's session, before its next frame. A relay
// that drains calls Engine.Drain, or DrainMember, as any node does.
//
// # Through a gateway
//
// A tunnel of a cluster with a key of its own crosses a border sealed: its frames go
// through a Passage, a half on each of the gateway's two nodes, which knows no key. The
// opening is sealed, so it has the tunnel's id on each link beside it (wire.Request). Chunks
// and ends go on as they come. Credit goes on as it is, too, at once or when there is room
// for what it allows (credit.Passing). What the gateway has to say itself, that a session has
// ended, that it has no room or that the opener says no word, is a reset in the clear, which
// ends such a tunnel as interrupted.
//
// # Guarantees
//
//   - What is received is a prefix of what was sent, message by message; it is
//     all of it when Receive returns io.EOF.
//   - What came and was not received is bounded by the windows, whose sum is
//     bounded by Config.BufferBytes. What stands in line for a lane is bounded by
//     1 MiB, or one message, per peer for programs that can't wait; what does for a
//     client by HopConfig.BufferBytes. One tunnel never fills a lane.
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
//     ignored, but for tunnels that come by a gateway.
//
// # Cost
//
// An idle tunnel takes 1.9 KB of heap, both ends together, less once its opener has
// been heard of, and no goroutine (TestTenThousandIdleTunnels). A message of one
// chunk costs no allocation beside the body that the link's reader makes, and none
// to pass on at a relay; that of a long chunk is read into again once ReceiveTo has
// written it, or a relay has passed it on. One tunnel between two nodes on loopback,
// both in one process, beside a bare libp2p stream there (two cores that were busy
// otherwise, too; the folder bench measures both in processes of their own):
//
//	1 KB messages    262,000 to 526,000 a second, the stream 115,000 to 129,000
//	64 KiB messages  4,400 to 10,600 a second, the stream 10,900 to 12,800
//
// # Goroutines
//
// None of a tunnel's own. Handlers run on the Exec's workers, until they return or
// detach their tunnels. A timer runs for each tunnel whose opener has yet to say a
// word.
package tunnel

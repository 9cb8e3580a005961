// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package mux carries the streams of one encrypted connection: few of libp2p's (the
// DHT's, identify's), which are kept simple, and that of the link, which is almost
// all of the traffic and must cost no more than the connection itself.
//
// It is what yamux was for before. With yamux a batch went through two goroutines
// and two copies more on each side, which took nearly half of the rate of bare TLS.
// A connection of the link's own beside libp2p's would have saved as much, at twice
// the handshakes, sockets and kinds of failure. So: one connection, multiplexed
// here.
//
// # Frames
//
// Nine bytes, big endian, and after those of kind data n bytes:
//
//	u8 kind  u32 stream  u32 n
//
//	1 open    n: 1 = a link's, 0 = one of libp2p's. The dialler's ids are odd.
//	2 data    n bytes of the stream follow; at most what the receiver allows
//	3 credit  n more bytes are allowed
//	4 end     the sender writes no more
//	5 reset   the stream is over, n says why; what was under way is dropped
//	6 ping    stream is 0; answered with a pong of the same n
//	7 pong
//	8 go away the sender will close the connection, n says why; nothing follows
//
// # Writing
//
//  1. A Write puts its bytes through TLS in records of 16 KiB, into the QueuedConn below
//     it. That never blocks.
//  2. It offers what is there to the kernel, once, without waiting (queuedconn.go).
//  3. What the kernel does not take is written by a goroutine that exists while
//     there is something to write; Write waits for it. So at most one batch is below
//     whoever schedules, and a Write that gives up breaks nothing.
//
// # Reading
//
// One goroutine at a time reads the connection: it leads. At first that is who calls
// Accept, which puts bytes into the buffers of their streams: so an idle connection has
// one goroutine. A reader of a stream that has called Drive is handed the lead with the
// next frame of its stream; from then on it reads TLS's records straight into the memory
// of who called Read, and does for the other streams in passing what Accept did. Whoever
// drives is in Read, or will be soon.
//
// # Guarantees
//
// What peers can make this side keep is bounded: streams, unread bytes per stream, and
// by who owns the connection also those of all streams (Unread), unsent frames. A frame that can't be, a byte more than allowed, or a peer that
// neither says anything nor answers a ping ends the connection. After the
// connection's end, readers get what arrived before it.
package mux

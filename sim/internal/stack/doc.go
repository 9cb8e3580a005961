// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack is level stack: whole nodes on real libp2p hosts, in virtual
// time. The player drives it as a level. It shows that the model of level sim
// tells the truth, and it is where partition and heal of the real routing table
// are proved.
//
// # What is real, and what is not
//
// Everything from the TLS handshake on is production: admission, write
// multiplexing, swarm, identify, kad-dht and all of Arke. Only the bottom
// is replaced (p2p.Config.Sockets): connections are between machines of this
// package instead of kernels.
//
//   - A connection behaves as TCP with a linger of 0: a window of 256 KiB,
//     half-close, resets, and package link's model for latency, jitter,
//     bandwidth and loss. There is no slow start, and one window per connection.
//   - A cut loses what arrives. The sender tries again after 200 ms, doubled
//     each time, also after the heal; who dials tries after 1, 2, 4 s. Nothing
//     breaks by itself: nodes must notice.
//   - A crash resets all connections. Silence answers nothing, not even a
//     dial; a machine that is back resets what it does not know.
//   - A paused node reads, writes and accepts nothing, and no timer of the
//     clock seam fires. Its kernel answers for it. But libp2p's own timers go
//     on, and so do handlers that run: a pause of 25 s ends connections from
//     inside.
//   - Skew moves the clock seam; libp2p keeps right time.
//   - Names are not looked up, mDNS is off, nodes forget peers when they stop.
//   - Router faults are not possible: the router is the real one.
//
// # The way of a byte
//
//  1. TLS writes to an end (conn.go), which waits for its window and, if the
//     link has a bandwidth, for the bottleneck.
//  2. The flow (flow.go) asks the link when it arrives, or holds it while the
//     path (network.go) is blocked.
//  3. A timer of the bubble delivers it to the other end, where Read finds it.
//
// # Bubble
//
// A Stack lives in a testing/synctest bubble. All its goroutines wait for
// conditions, channels and timers of the bubble; its locks are never held
// across a wait. With the race detector, run on one P (Go issue 78156).
//
// # Guarantees
//
// The same seed gives the same peer ids and, in a player, the same faults at
// the same times. What follows from them is alike, but does not repeat: libp2p
// draws its own random numbers, and goroutines run as they like. Close ends
// everything and leaves no goroutine.
package stack

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package broadcast, an inner part of Arke that makes no promise to users, is
// the broadcast pattern: one message to every member of a cluster, at most once
// each. Its sender learns how many have it, and who has not.
//
// It does not find members or travel: that is package request, of which a copy
// is one kind of message. It has no forwarders: each copy goes to its member's
// node directly. For large audiences there are topics.
//
// # The way of a broadcast
//
//  1. Engine.Broadcast waits for a list of members that misses nobody, half a
//     second at most; without it the result is not complete.
//  2. The request engine sends a copy to each member at the same time, on lane
//     pub (large ones on bulk), and opens the links that do not stand. Where a
//     lane is full a copy waits in line, which nobody overtakes.
//  3. Each member's queue takes its copy, by the same limits as requests, or
//     refuses. Its node answers, and runs Service.Broadcast, once; from here on
//     it is as with a push.
//  4. When everybody has answered, failed, or is late, Broadcast returns.
//
// # Guarantees
//
// At most once for each member; nobody is sent a second copy. Who is counted in
// BroadcastResult.Members handles it, unless its process ends. What one caller
// broadcasts one after the other comes to each member's queue in that order:
// each call returns only when all its copies are in their queues or are given
// up.
//
// # Goroutines
//
// None: all copies of a broadcast are looked after on its caller's goroutine.
package broadcast

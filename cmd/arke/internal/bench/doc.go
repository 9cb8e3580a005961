// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench asks a cluster, or whatever Do does, at a fixed rate and reports
// what came of it.
//
// It is an open loop: request n has an intended start, n ÷ rate after the
// beginning, fixed before anything runs. Its latency counts from there, not
// from when a worker got round to it. A closed loop would slow down together
// with what it measures and hide every stall ("coordinated omission").
//
//  1. The pacer hands out numbers, each at its intended start.
//  2. One of Concurrency workers takes the number and sends the request. If all
//     are busy, the number waits, and the wait is part of its latency.
//  3. The recorder counts outcomes, replies per member, and latencies of
//     replies in a histogram with three significant digits.
//
// Numbers that no worker has taken when the duration and a grace time are over
// are reported as unsent; nothing is left out in silence.
//
// [Audience] measures the other end of a topic: how many of the publications
// came, how many are told to be missing, and how long they took, again from
// their intended start. [Lines] has many requests under way through few
// tunnels whose member answers in order.
//
// Goroutines: the pacer, and Concurrency workers; all have ended when Run
// returns; one for each tunnel of Lines, until Close.
package bench

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker is one process of a run: it publishes, subscribes, requests or
// responds on a system under test, and counts.
//
// # The talk with the driver
//
// Orders come on standard input, words leave on standard output, both a JSON
// object a line. The first order has the Job; the worker says "ready", with
// where it is found. Publishers then publish probes until "go"; a subscriber
// says "seen" when it has one of each publisher. "go" says when the measured
// span begins and ends, in nanoseconds of CLOCK_MONOTONIC, which all processes
// of a machine share: nothing is said meanwhile. After it comes "done" with the
// Result; a subscriber is first told by "expect" how much was published. The
// end of the input ends the worker.
//
// # What a message carries
//
// Its first 8 bytes are the publisher's index and a number; its last byte is
// that of the number again. So a subscriber sees what was lost, repeated, out
// of order or damaged. A reply is the request, with the index of who answered.
//
// # The credit window
//
// Where a system has no back-pressure from end to end, subscribers tell the
// publishers how far they are, over a connection of the benchmark's own, eight
// times in a window; a publisher waits while a whole window is under way.
package worker

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package play, an inner part of Arke that makes no promise to users, runs an
// expanded scenario on a level and returns what happened. Levels are package
// world (simulated network), package stack (real libp2p in virtual time) and
// package netns (real processes); play does not know which.
//
// It judges nothing: package check does.
//
// # The way of a run
//
//  1. Warm-up: the nodes that exist from the beginning start one after the
//     other, a millisecond apart, and their members register; every caller
//     waits until it sees them. History.Start is when that is done, and the zero
//     of the scenario's own times.
//  2. Safety phase: the workload sends, the timeline strikes, observers look
//     at what each caller sees of the clusters that it calls. History.Safety is
//     the end of it.
//  3. Liveness phase: every fault ends, nodes that were lost stay so, and every
//     caller probes its clusters. Progress is demanded here.
//  4. What is still under way gets its time to end; then everything closes.
//
// # Goroutines
//
// Everything runs on goroutines of the level, in steps of their own where the
// level has steps. Play waits for all that it began.
//
// # Request ids
//
// The first eight bytes of a body are the request's id: the index of its work
// and a number in it. That is how a handler's run is matched with its request.
package play

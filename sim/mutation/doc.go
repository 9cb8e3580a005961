// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutation measures how much the shipped scenarios would notice: the
// share of the hand-made bugs of package internal/mutant that they catch.
//
// It is not a test of the product; the scenarios are. It tests them.
//
// # How it works
//
//  1. A program is built once with the tag "mutants" (`make mutants`).
//  2. Baseline: without a bug every scenario must pass with every seed that is
//     used afterwards. Otherwise there is no score: a failure would say nothing.
//  3. For each bug the scenarios run one after the other, all with the first
//     seed, then all with the next one, until a run fails. Those that caught the
//     most bugs so far come first, and of these the quickest.
//  4. A table says which scenario and which checker caught the bug, with which
//     seed and after how many runs, and what share of the bugs that is.
//
// A bug counts as caught if a checker found something, an assertion does not
// hold, or the run crashed, hung, or never got the network to stand. That a
// scenario did not reach what it is about ("sometimes") is no proof of a bug,
// and does not count.
//
// # Goroutines
//
// Hunt runs as many bugs at a time as it is told, each with a process of its
// own, and returns when all are done.
package mutation

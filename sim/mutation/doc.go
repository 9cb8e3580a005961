// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutation, an inner part of Arke that makes no promise to users,
// measures how much the shipped scenarios would notice: the share of hand-made
// bugs that they catch.
//
// It is not a test of the product; the scenarios are. It tests them. Nothing of
// it is in the product: the bugs are patches, applied while a program is built
// for the measurement only.
//
// # How a bug is written
//
// Each breaks a sentence of the design that a user would notice: a request that
// is lost, run twice or answered wrongly, a member that is forgotten or never
// forgotten, a limit that does not hold. Write it from the sentence, before
// looking at which checker would see it.
//
// bugs/<folder of the package>/<name>.diff holds it:
//
//	Breaks: a node that was restarted comes back with its first incarnation
//	Promise: 5: incarnations survive restarts
//	@@
//	 func (n *Node) incarnate() (uint64, error) {
//	+	return 1, nil
//
// Two lines say what the program does wrong, and which promise it breaks. The
// number is the part of Arke: 4 the overlay, 5 clusters, 6 patterns, 7 keys,
// 8 relays. Hunks follow, as in a diff, but without numbers
// and file names: the lines that begin with a space or a minus must follow each
// other at exactly one place in the package, whatever their indentation and
// alignment; empty lines and comments between them do not count. Choose as few
// as tell the place. A bug changes the bodies of functions only.
//
// # How it works
//
//  1. Build copies the files that bugs change. Each function that a bug changes
//     gets a twin with the bug, and a switch that calls the twin if the bug is
//     chosen. `go build -overlay` compiles one program from all of it.
//     The environment variable ARKE_MUTANT chooses the bug of a process, on all
//     its nodes and for its whole life; without it there is none.
//  2. For each bug the scenarios run one after the other, all with the first
//     seed, then all with the next one, until a run fails. Those that caught the
//     most bugs so far come first, and of these the quickest.
//  3. A run that has caught a bug must pass without one. Otherwise there is no
//     score: its failure says nothing.
//  4. A table says which scenario and which checker caught the bug, with which
//     seed and after how many runs, and what share of the bugs that is.
//
// A bug counts as caught if a checker found something, an assertion does not
// hold, or the run crashed, hung, or never got the network to stand. That a
// scenario did not reach what it is about ("sometimes") is no proof of a bug,
// and does not count.
//
// # What no scenario reaches
//
// Some defences make no difference in a simulated network, which has no TLS, for
// example. Beyond lists them, with the tests that catch their absence; the table has
// that, too.
//
// # Goroutines
//
// Hunt runs as many bugs at a time as it is told, each with a process of its
// own, and returns when all are done.
package mutation

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package world, an inner part of Arke that makes no promise to users, is level
// sim: whole nodes, with everything above the seam as in production, on the
// simulated network of package sim. The player drives it as a level.
//
// It is not a model of a node: it makes real ones (package internal/node) and gives
// them the simulated seam.
//
// # In a test of your own
//
// Play runs a whole scenario file with handlers of the test's own. Package arketest has
// nodes and programs for tests that have no such file.
//
// The test runs in a bubble in virtual time: time.Sleep takes no real time and
// the same seed gives the same run. Package sim has the five rules that user
// code must follow for that.
//
// # Goroutines
//
// None of its own; those of the nodes end with Close.
package world

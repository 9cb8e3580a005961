// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package counts, an inner part of Arke that makes no promise to users, guards
// what a message costs by counting, not by timing: heap allocations, system
// calls, wake-ups, runs of goroutines, frames and their bytes, of each process that a
// message passes.
// Counts are the same on a slow machine and on a fast one; how fast Arke is
// beside its peers is measured in the folder bench.
//
// The tests run programs of their own (probe), without the race detector, which
// changes counts. The bounds are one table, in bounds_test.go: whoever makes
// something cheaper lowers a number there.
package counts

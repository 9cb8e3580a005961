// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package driver starts the processes of a run, servers and workers, has them
// measure the same span, and samples what they cost meanwhile.
//
// A run is one system on one workload. Runs of different systems are
// interleaved round by round, in another order each time, so that a machine that
// becomes slower does so for all of them. What all other processes of the
// machine used in the span is sampled, too: a run beside which others were busy
// is made again, and marked if it stays so.
package driver

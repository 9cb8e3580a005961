// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

// Seal says when bodies and headers are encrypted end to end under the
// cluster's key.
type Seal uint8

// The ways to seal.
const (
	// SealAuto seals for clusters with explicit keys. Those of a cluster with
	// a derived key travel on direct links, which are encrypted between two
	// nodes that both hold it.
	SealAuto Seal = iota
	// SealAlways seals everything, and members refuse what is not sealed. All
	// nodes of a network should agree on it.
	SealAlways
)

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package simnet puts whole nodes on a simulated network, for the tests of
// packages that say something about more than one of them. Tests only may
// import it.
//
// It starts nodes and closes them when the test ends; what they serve, send and
// suffer is the test's. Everything happens in virtual time, and on equal seeds
// of the network in the same way: the keys follow from the network's name.
package simnet

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !mutants

package mutant

// Compiled says whether this program can have bugs planted.
const Compiled = false

// On says whether the program has bug b: never, in this build.
func On(Bug) bool { return false }

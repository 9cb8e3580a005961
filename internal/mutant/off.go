// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !mutants

package mutant

// On says whether the program has bug b: never, in this build.
func On(Bug) bool { return false }

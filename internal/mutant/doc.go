// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package mutant holds hand-made bugs: wrong turns, each planted in the product
// by one or two `if mutant.On(…)`, that show whether the simulator's scenarios
// and checkers would notice the real ones. Package sim/mutation runs them all
// and counts.
//
// It is not a way to configure anything, and no part of the product that users
// run: without the build tag "mutants", On is the constant false, the compiler
// removes every hook, and the environment is not read; a test holds that.
//
// # How a bug is chosen
//
//  1. Build with -tags mutants.
//  2. Start the program with ARKE_MUTANT=<name>. Without the variable, or with
//     an empty one, there is no bug; a name that is none stops the program.
//  3. On is true for that bug, on every node of the process, for its whole life.
//
// # How a bug is made
//
// Each breaks a sentence of the design that a user would notice: a request that
// is lost, run twice or answered wrongly, a member that is forgotten or never
// forgotten, a limit that does not hold. They were written from those
// sentences, before anybody looked at which checker would see them. A hook does
// not disturb the way of those who have no bug.
package mutant

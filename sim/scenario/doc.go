// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario, an inner part of Arke that makes no promise to users, is
// the format of experiments: read, validate, expand, explain, generate, make
// smaller. It is data about a network and knows nothing that runs: package play
// does that, package check judges it.
//
// # The way of a file
//
//  1. Parse reads YAML strictly into a Scenario (parse.go) and checks what is
//     impossible (check.go, checkaction.go): every error names file, line,
//     field and reason, and all of them are told at once.
//  2. Expand draws what the seed decides: with generate: the scenario itself
//     (generate.go, strikes.go), then the random actions (expand.go). It fills
//     in defaults, resolves selectors (index.go), replaces compound actions by
//     primitive ones, spells healing out, and refuses what
//     contradicts itself, such as a crash of a node that does not run (lives.go).
//  3. What comes out is a Scenario too, and expands to itself. A player reads
//     nothing else.
//
// Explain writes it for people; Smaller makes simpler ones of it for whoever
// looks for the smallest that still fails. WriteReference documents the format.
//
// # Guarantees
//
// Everything is a pure function of its arguments. The same scenario and seed
// expand to the same actions on every machine: integers only, one random stream
// for each purpose and action, so that one action more does not change what the
// others draw. There are no goroutines.
package scenario

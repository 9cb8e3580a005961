// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the name that was meant where another one was typed: a
// flag, a command, a key of the configuration, a word of a scenario.
//
// # Data path
//
//  1. Whoever does not know a name gives it to [Name] or [Names], with those there are.
//  2. If some of them are near, they are told in the error, as [Hint] does.
package nearest

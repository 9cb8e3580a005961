// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package drop counts what went no further, by named reason: every bound has a
// reason of its own, and the status shows how often it was met. Each package
// names its own reasons; here is only how they are counted.
//
// # Data path
//
//  1. A package declares its reasons as an enumeration with names, and makes its
//     [Counts] with [New].
//  2. Whoever drops or refuses something says so with Inc or Add, on whatever
//     goroutine it is.
//  3. Its Drops method returns ByName.
//
// It has no goroutine and no lock.
package drop

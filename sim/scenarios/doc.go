// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenarios, an inner part of Arke that makes no promise to users, has
// the experiments that Arke ships, as files. Each is about one kind of trouble;
// its assertions are what Arke promises for that case, and its
// sometimes-assertions prove that the trouble was there. These ask for the
// least that proves it, not for a number: shrinking keeps what they say, so
// that "crashes >= 1" still leaves something to leave out.
//
// They are read by `arke sim run NAME`, and by the tests of the simulator. The
// package runs nothing.
package scenarios

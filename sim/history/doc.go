// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package history, an inner part of Arke that makes no promise to users, is
// what happened in a run, as plain data: what was asked and how it ended, what
// handlers did, who was a member when, which faults were injected, what nodes
// believed and used. Players write it, checkers and reports read it. It decides
// nothing.
//
// All times are measured since the run began. In simulation they are global
// and exact; at level net they are the player's clock.
package history

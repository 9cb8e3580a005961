// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package play runs a scenario on a level and returns what happened. Levels
// are package world (simulated network), package stack (real libp2p in virtual
// time) and package netns (real processes); play does not know which.
package play

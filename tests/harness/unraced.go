// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package harness

// raced says that this process has the race detector.
const raced = false

// RaceMemory is how many times as much memory the started binary takes because
// of the race detector.
const RaceMemory = 1

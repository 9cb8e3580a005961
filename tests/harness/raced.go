// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package harness

// raced says that this process has the race detector.
const raced = true

// RaceMemory is how many times as much memory the started binary takes because
// of the race detector: 5 to 10, says Go's documentation.
const RaceMemory = 5

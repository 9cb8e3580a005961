// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package harness

// raced says that this process has the race detector.
const raced = true

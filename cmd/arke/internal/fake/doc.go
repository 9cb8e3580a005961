// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake has tunnels without a network, for the tests of the commands
// that use them: two ends in memory, with credit in bytes, half-close and
// reset as package patterns promises them. No goroutine runs.
package fake

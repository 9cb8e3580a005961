// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package outcome names what can come of a request, for everything that
// counts or reports outcomes: exit codes, benchmark results, JSON.
package outcome

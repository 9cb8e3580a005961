// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package check judges a run: it measures a history, looks for broken promises
// and decides assertions. It is pure: the same history and rules give the same
// verdict.
package check

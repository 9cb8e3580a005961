// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package waitline is the line of those who wait for room in something that is
// bounded: first come, first served, each for an amount of its own, and each may
// leave before it is its turn.
//
// It decides nothing but the order. Its owner says what there is room for, locks,
// and wakes those whose turn has come once the lock is released.
package waitline

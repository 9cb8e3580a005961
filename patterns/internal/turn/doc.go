// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package turn orders goroutines that come from user code. User code calls and
// returns whenever it likes, in the simulator often several goroutines at the
// same instant, and then who is first must not be up to the scheduler. In
// production nobody waits.
//
// It has no goroutine of its own and decides nothing: the order is that of the
// Exec's keys.
package turn

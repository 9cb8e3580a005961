// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package turn orders goroutines that come from user code. User code calls and
// returns whenever it likes, in the simulator often several goroutines at the
// same instant, and then who is first must not be up to the scheduler. In
// production there are no turns: Turns is nil, and taking one is nothing.
//
//  1. A call comes on a goroutine of the program, which takes a turn, under a
//     key made of a name and of a number or of what the call is about, before it
//     touches what others share.
//  2. The simulator's Exec wakes it in a step of its own, in the order of the keys.
//
// It has no goroutine of its own and decides nothing: the order is that of the
// Exec's keys.
package turn

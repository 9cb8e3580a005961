// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package credit is the flow control that everything uses whose receiver sets
// the pace: tunnels, and subscriptions that block their publishers. The receiver
// tells how much may come, the sender never sends more.
//
// It is three pure cores, without goroutine, clock or lock but for the Budget,
// which many share; whoever owns one serialises the calls and brings the time.
//
//   - Window is the receiving side: what was given, what came and was not read,
//     and when to tell of more. One whose reader keeps up doubles.
//   - Balance is the sending side: what was heard of and not used up.
//   - Budget is what all windows of one owner may have together.
//
// Credit is counted in bytes, of which a chunk uses up at least MinCost: each
// costs memory beside its bytes. It is told as a total since the beginning, so
// that an old or repeated word gives nothing and a lost one is made good by the
// next. It is told in a few large pieces: a quarter of the window at once, or a
// sixteenth if nothing is left to read, so that the sender does not starve on
// what is kept back.
//
// Who passes chunks on between a sender and a receiver beyond it has a Window
// too, which bounds what may wait in between, and gives what the receiver beyond
// has given and not a byte more (Window.GrantUpTo).
package credit

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package notice says in the log what numbers show: that a limit is reached, that
// something has become many, that a set has changed. It counts nothing. What is counted
// anyway is looked at now and then, so nothing is paid where things are counted.
//
// It is not for what happens once, like the loss of a peer: whoever sees that says it.
//
// # The way of a line
//
//  1. [Watch] calls its owner every [Every], on the owner's clock.
//  2. The owner reads its counters and gives them to the cores: [Limits], [Many],
//     [Changes]. Each is a plain type; it decides whether there is something to say.
//  3. Watch writes the lines.
//
// [Seldom] is for a loop that sees its own failures, one after the other.
//
// A Watch whose logger logs nothing looks at nothing: a simulation has no such timer.
package notice

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package push, an inner part of Arke that makes no promise to users, is the
// push pattern: one message to one member of a cluster, and no reply. Its
// sender learns that the member's queue has it.
//
// It does not choose members, retry or travel: that is package request, of
// which a push is one kind of message.
//
// # The way of a push
//
//  1. Engine.Push hands it to the request engine, which picks a member and
//     sends it, as it does with a request.
//  2. The member's queue accepts it, by the same limits as requests, or refuses:
//     then another member is tried. It refuses a push whose handler would not begin
//     before the deadline: that is how long a push is worth something.
//  3. The member's node answers that it is accepted, and runs Service.Push,
//     once. From here on it does not matter what becomes of the sender, its
//     deadline or its link. A member that drains finishes it.
//  4. Push returns.
//
// # Guarantees
//
// At most once. A push that was accepted is handled, unless its member's
// process ends, or is closed before it has drained: that is counted there
// ("abandoned"). With an error nobody has it, but see ErrInterrupted and
// DeadlineError of package patterns. There is no order between pushes.
//
// # Goroutines
//
// None: it runs on its callers' ones.
package push

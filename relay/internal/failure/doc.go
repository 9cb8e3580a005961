// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure turns errors into what travels between a client and its
// relay, and back. Both sides use it, so that a program that is attached sees
// the errors it would see if it had a node of its own: errors.Is, errors.As and
// the text agree.
//
// There are two directions. [Of] and [Error] are for what a client asked of its
// relay; [OfHandler] and [HandlerError] are for what a relay asked of a
// client's handler, where an error is an answer like any other.
package failure

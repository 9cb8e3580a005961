// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package patterns, an inner part of Arke that makes no promise to users, is
// the vocabulary of messaging: what a program says, hears and may rely on,
// whether it embeds a node or is attached to a relay. It has no behaviour; each
// pattern is a sub-package, and packages internal/node and relay/client implement
// [Messenger].
//
// # Guarantees
//
// Everything is at-most-once; stronger guarantees belong at the ends. Nothing
// is dropped silently: every drop has a named reason, a counter and, for
// requests, an answer.
//
//	pattern    goes to                      promise
//	request    one member                   exactly one outcome at the caller, at the latest 5 ms after the
//	                                        deadline (default 5 s); each attempt runs at most once
//	survey     every member                 replies as they come; ends with "complete" or who is missing
//	push       one member, no reply         accepted by a member's queue, or an error
//	broadcast  every member                 at most once each; says to how many it went
//	publish    every matching subscription  per publisher and topic in order; a gap is told with its size
//	tunnel     one member                   ordered whole messages; a slow reader slows the writer
//
// # Outcomes of a request
//
//	outcome                in Go                           did a handler run?          retried by us?
//	reply                  nil                             yes (idempotent: perhaps    -
//	                                                       more than once)
//	the handler refused    *RemoteError                    yes                         no
//	no right to ask        ErrUnauthorized                 no                          no
//	too large              ErrTooLarge                     no                          no
//	no member              ErrNoMembers                    no                          optional wait
//	all busy               ErrOverloaded                   no                          yes, other members
//	none could be reached  ErrUnreachable                  no                          yes
//	process died after     ErrInterrupted                  maybe                       only if marked
//	sending                                                                            Idempotent
//	deadline, cancel       context.DeadlineExceeded,       maybe; *DeadlineError       no
//	                       context.Canceled                says which
//	closing                ErrClosed                       no                          -
//
// Only the origin retries: at most three distinct members, within a budget of
// 20 % of the last 10 s of requests plus 100, per node and cluster. A request
// that is not idempotent is sent again only if it is certain that no handler
// has seen it. If a retry was interrupted and a later one fails otherwise, the
// outcome says the worst that can be true: ErrInterrupted.
//
// # Overload
//
// A member starts only what can end before its deadline, by what its handlers took of
// late, and refuses the rest at once with ErrOverloaded, so that another member is asked. A
// push or broadcast has to begin in time. So at ten times the load a member still replies
// as fast as it can, whatever the length of its queue. Where nothing can end in time,
// it tries one at a time.
//
// # Headers and bodies
//
// A message is a body, which may be empty, and headers, which Arke carries and
// does not read. Each member states how large a message it accepts
// ([Limits.MessageBytes], default 1 MiB).
package patterns

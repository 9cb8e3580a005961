// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package inbox is the queue of one subscription: bounded, with a policy for
// when it is full, and with a gap wherever a message is missing.
//
// It knows no topics, nodes or links: what is put in has been matched. It does
// not decide who gets a message of a queue group, either.
//
// It needs no Engine: a client of a relay makes a Set over its workers (NewSet),
// one Inbox for each subscription (Set.New), gives it what its relay sends (PutRun,
// Gap), and ends it with Inbox.Close and, after all of them, Set.Close.
//
// # The way of a message
//
//  1. Inbox.Put, on the goroutine that reads the link or publishes, gives it to
//     the backlog, which takes it, or drops it or older ones and leaves a gap
//     in their place. Under OverflowBlock Inbox.PutWait waits for room first,
//     and Inbox.Offer says that it would have to. Messages that have come together
//     are put together (Inbox.PutRun), as they travelled.
//  2. If no worker has the inbox, one is asked for (Exec.Go). If there is none
//     free, the inbox stands in line for one.
//  3. The worker takes messages and gaps, one at a time, and calls the
//     Subscriber, without a lock. While others stand in line it goes on to the
//     next inbox after 64 of them.
//
// # Guarantees
//
// The Subscriber is called one at a time, in the order of Put and Gap.
// Delivered + missed + queued = put + reported as gaps, always. Gaps stand
// where their messages would have been; those that stand side by side are
// merged, one for each reason, so that there are few of them; one of unknown size
// stays inexact. A Subscriber that
// is slow, or panics, affects its own inbox only, as long as there are fewer
// slow ones than workers; then it is everybody's bounded queue that drops and
// counts.
//
// From Put to the Subscriber takes 47 ns on one core of an AMD EPYC while
// messages wait (a channel and a goroutine: 31 ns), and 0.5 µs if a worker is
// woken for each (go test -run xxx -bench Put ./internal/inbox).
//
// # Goroutines
//
// None of its own. A worker has an inbox only while something is in it: an idle
// one is 185 bytes (a test counts 100,000). One timer runs while inboxes stand
// in line.
package inbox

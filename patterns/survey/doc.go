// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package survey, an inner part of Arke that makes no promise to users, is the
// survey pattern: one message to every member of a cluster, whose replies are
// handed on as they come. It ends with "complete", or with the names of those
// who did not answer, and why.
//
// It does not find members or travel: that is package request. At the member a
// survey is a request: the same queue, limits and handler.
//
// # The way of a survey
//
//  1. Engine.Survey waits for a list of members that misses nobody, half a
//     second at most; without it the result is not complete.
//  2. The request engine asks each member, once, all at the same time, and opens
//     the links that do not stand. Where a lane is full it waits in line.
//  3. Replies are counted against SurveyOptions.MaxBytes where they arrive, and
//     wait for the caller's goroutine.
//  4. That one calls each for every reply, one at a time. When everybody has
//     answered, failed, or is late, Survey returns.
//
// # Guarantees
//
// Nobody is asked twice. A result is complete only if the list of members was
// whole, and everybody on it has answered. The list is whole if a majority of
// the cluster's anchors have told who can know: it lacks only who registered
// within the last round trip. In the first seconds of a network nobody can.
//
// What waits for a slow each is bounded by MaxReplies and MaxBytes. A survey that
// ends early tells the members that still work that nobody waits.
//
// # Goroutines
//
// None: all questions of a survey are looked after on its caller's goroutine.
package survey

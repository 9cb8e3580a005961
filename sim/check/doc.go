// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package check, an inner part of Arke that makes no promise to users, judges a
// run: it measures a history, looks for broken promises and decides what a
// scenario asserts. It is pure: the same history and rules give the same
// verdict, and nothing in a history can make it panic.
//
// It does not run anything, reads no scenario, and knows nothing about how a
// level works: what differs between levels is bounds (Rules).
//
// # How a run is judged
//
//  1. The history gets indexes, each with an owner that knows those above it:
//     lives of nodes, registrations of members, when faults disturbed whom and
//     which of them ended a registration (all in lives.go), requests and their
//     runs (requests.go), publications and
//     subscriptions (topics.go). facts.go holds them. What measures or checks is
//     given the one that it looks at.
//  2. Every observer's view of every member is compared with the truth, once
//     (memberview.go; alive in facts.go defines what a right view is; ViewHistories
//     tells reports of the same); what follows from it is collected on the way
//     (views.go).
//  3. Metrics are measured (tally.go, topicmeasures.go, resources.go and so on).
//     catalogue.go lists them all with units and meanings. Reports count with the
//     same Tally.
//  4. The checkers report violations (checkers.go lists them).
//  5. Assertions compare metrics with values (value.go). A metric for which
//     there is nothing to measure does not exist, and an assertion about it
//     fails: an experiment that did not happen proves nothing.
//
// # What is true
//
// A member is live from the acknowledgement of its registration until its node
// is told to leave or is lost. An observer is a node that sends requests to a
// cluster, as long as it does and 20 s longer, or that has a view of one
// without ever sending. It sees the members whose nodes hold its keys. It is
// wrong about one that is live and that it does not take to be alive, and about
// one that is dead and that it does. It takes to be alive whom it shows as live
// or as ejected (alive says why).
//
// A publication is due to a subscription that was acknowledged long enough
// before for every publisher to know, and that lives long enough after it for a
// gap to be noticed, if its publisher does, too. What is due is delivered, or
// the subscription is told of it; both together are what was sent. A queue of
// subscriptions counts as one, except near the begin or end of one of them:
// which one was to have a message is not in a history.
//
// A survey or a broadcast that is called complete has every member that was
// registered long enough before, stayed, and could be reached.
//
// # Who is excused
//
// Type knowledge has the one rule: a node is judged by what it could know. One that
// sleeps has no more time than it is awake. Of two nodes that could not find each other,
// as no seed was there for long enough, neither has to know the other. What excluded nodes
// do with each other is not looked at.
//
// A node is disturbed while a pause, a move or a fault of its router hits it, or faults of
// links (cut, clog, degrade, corrupt) hit a quarter of its links, and for the convergence
// bound after that; faults of fewer links disturb the pairs at their ends. Disturbed observers may show zombies; disturbed pairs make no false
// suspicions, and nothing is due between them. What a publisher could not send
// because it was cut off until it had shut down is lost with it, as if it had
// died. Only of a disturbed pair may the member get an idempotent request twice,
// each time as an attempt. A request whose caller's own node was hit needs one
// outcome and counts for nothing else. After the last fault nobody is excused
// any more.
package check

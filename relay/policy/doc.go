// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy, an inner part of Arke that makes no promise to users, says which of
// a relay's clients may serve, call, publish to and subscribe to which names.
//
// It decides. It has no goroutine, file or clock, and knows no relay: package relay
// asks it once for each client, verb and name, and remembers the answer.
//
// # The file
//
// A policy is text, one rule a line. What no rule allows is refused; rules only allow,
// so that their order does not matter.
//
//	# who        may  verbs            names
//	user alice   may  serve, call      billing billing.>
//	group ops    may  call             $status $members
//	token ci     may  publish          build.*.done
//	anyone       may  call, subscribe  news.>
//
// Who is a user or a group of the machine, by name or number, a token by its name, or
// anyone that the relay lets attach. A client is all of it at a time: a process of a
// user, of all its groups, perhaps with a token. Over TCP there are tokens only.
//
// Names are patterns as those of topics: * stands for one word, > at the end for the
// rest. The same words are used for clusters and for topics. A name with blanks stands
// in double quotes. A word that begins with # begins a comment.
//
// # Verbs
//
//	serve      be a member of a cluster
//	call       request, survey, push, broadcast and tunnel to a cluster; list and watch
//	           its members
//	publish    publish to a topic
//	subscribe  subscribe to a pattern: a name must cover all of it. Who may subscribe
//	           to a.* may not subscribe to a.>
//
// The wildcards do not stand for the names that Arke keeps for itself, which begin
// with $: "call $status" lets somebody see the relay's status, with all of its
// clients, and "call $members" list the members of every cluster.
package policy

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fanout, an inner part of Arke that makes no promise to users, is how messages of
// one session reach many nodes: who they are for, which number each gets, and which way it
// takes. A publisher and a forwarder in a tree
// do the same, so both of package pubsub are made of it.
//
// It does not know what a message says or who may publish it, never waits for room
// (Stand and Race are for those who do), and hands nothing to subscriptions of its own
// node. Package pubsub has the words and the guarantees.
//
// # The way of a message
//
//  1. Subscribers takes in a view of the group's cluster, and has the Audience know what
//     each Receiver wants (subscribers.go, audience.go).
//  2. The Audience finds the Way of a topic, once until somebody's interests change; a
//     Picker draws one node for each queue, and one gateway for each other network
//     (picker.go, ferry.go).
//  3. The Tree, where there is one, says through which Branch a receiver is reached
//     (tree.go); the Signer vouches for who is behind its heads, and a Lineage hands
//     that on (lineage.go).
//  4. The Fanout numbers the message for each receiver, encodes it once, and gives it to
//     the Hop of each (fanout.go, content.go): one link, with what waits for its first
//     session, and what the last frame can still take in (hop.go).
//
// # Locks and goroutines
//
// Audience, Subscribers, Tree and Picker are pure cores: their owner's lock guards them,
// and they have no clock. That lock is Fanout.Mu, which guards the owner, too. The only
// timer is the one that pays what is owed: numbers that a receiver has to be told.
// Race waits on the Exec's workers.
package fanout

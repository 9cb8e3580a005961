// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster, an inner part of Arke that makes no promise to users, turns
// a cluster's name into its live members, and chooses among them. It registers
// the members of this node, anchors clusters for others, and watches the
// clusters that this node calls.
//
// It reads no payload, knows no pattern (what a request is, how often it is
// tried again) and opens no connection itself: links come from below.
//
// # How a member becomes known
//
//  1. A cluster goes under a blinded id that only holders of its key can
//     derive; it changes every few hours (epochs.go). The three nodes closest
//     to the id are its anchors (anchorset.go), and the closest one that is at home
//     in another network than they (prefix.go).
//  2. The member's node registers with each of them: a sealed record, a proof
//     that the sender holds the key, and its own signature of all that the anchor
//     keeps (registrar.go, registration.go). The anchor checks both, needs no key
//     for that, and holds a lease as long as the session of their link: suspect
//     while its connection is broken, gone at its end (anchor.go, book.go).
//  3. A caller's node watches the same anchors: one snapshot from each, then
//     numbered deltas (watcher.go, epochview.go). It opens the records, which only
//     holders of the key can seal, and checks the signatures, once each.
//  4. The view is the union of what the anchors say (mergeviews.go): lost
//     at one anchor is suspect, lost at a majority is gone, a node's newest
//     incarnation hides what it was before, its newest record older ones. Where our
//     own link to a member's node is up, only a majority makes it suspect. Only the
//     members of nodes that there is news of are merged anew (census).
//  5. Pick chooses from the view by load, latency and zone (pick.go): members of this
//     network first, those that gateways lend from others as far as it can't do the
//     work itself (tiers.go). Done tells how it went, and slow or failing members are
//     left out for a while (health.go).
//
// A member of another network, whose cluster has a key of its own, is registered by a
// gateway that can't open its record: the gateway's record holds the member's own lease,
// signed for its own network, without its addresses (passed.go). Callers verify and
// open both, and know the member once, with each such gateway as a way to it. To that
// end the record of a cluster with a key of its own has two parts: where the member is,
// also for who has the finding key only, and all else.
//
// A registration that has just begun asks to be announced: the anchor says "pending" until
// each of its watchers has answered that its callers see the member, or is suspect, or a
// second has passed (announce.go). Register returns when a majority of the anchors says so,
// and a watcher believes a majority, so whoever calls afterwards finds the member.
//
// Two nodes apart, a member is known one round trip after it asked; so is a
// broken link. When the anchors change, members and watchers go over to the new
// ones before they leave the old ones. A member can be faster than a watcher: whom an old
// anchor let go of stays in the view until a majority of the new ones has told, for 3 s
// or eight round trips at the longest (moving.go).
//
// # Who anchors
//
// The anchors are chosen by what this node knows itself: its routing table,
// its own lookups, and whoever it has a link to. Whom others name is dialled
// and counts once there is a link: as second-hand knowledge the name of a dead
// node would never die out. Whoever can't be reached, or has been silent for half a
// second or four round trips since it was missed first, is replaced by
// the next one, and tried again in the background. A connection that breaks is followed
// by the next one before that: then nothing changes, though nobody takes the anchor's
// silence for "whole" or "empty" meanwhile. Whoever comes to a wrong
// anchor is served, and told the right ones; unless that node knows eight others
// closer to the id, can reach them all, and has known the same peers for 5 s. Then it
// refuses (FAR): it takes no load for clusters that are far from it.
//
// To choose an id costs a moment of hashing, to be at home elsewhere another network.
// So the fourth anchor is the closest node whose address has another prefix (IPv4 /16,
// IPv6 /32) than those of the three: the address that the link's connection shows,
// whatever the peer says. Addresses that are not public count as one network: on a LAN,
// and on one machine, there are three anchors. A node knows where a peer is once it
// has a link to it, so where there are several networks, those who may be the fourth are
// dialled. A node that says FAR looks whether it is an anchor for being elsewhere.
//
// Majorities are over all that are asked: three of four. If the three closest are of
// one network, they take no member away that the fourth lists, and call nothing empty,
// without it.
//
// # Empty
//
// An anchor says that a cluster is empty with authority only if nobody else
// may be an anchor in its place, its neighbourhood has been the same for 1.5 s,
// or four of the longest round trips (settling.go), no lease has ended with its
// session in that time, and a majority of the anchors, itself included, hold no
// lease either, and none says it does (they ask each other: authority.go). A caller
// believes "empty" from a majority of such anchors, under every valid id. Until then
// it does not know. A node that knows nobody, but was told of seeds or had peers, does not
// know either, nor does one whose clock is off (Config.Doubt). A caller that had members asks up to four of their nodes itself before it believes that they are
// gone (crosscheck.go): a node tells its own members to whoever asks it, though it is
// no anchor, and no anchor's word is worth more about them. It waits for that for a
// second at most, and not for nodes that it has no link to.
//
// # Shards
//
// An anchor holds a cluster id whole up to 512 leases. With one more it is sharded: it takes
// no further ones, and says so to its members and watchers. Each of its four shards is an
// id of its own, derived with the cluster's key, so that it has other anchors and nobody
// else knows that they belong together; a member's hash says which is its own (shard.go).
// A shard is sharded in its turn. A member follows the word of a majority of an id's
// anchors, and leaves the id once it has been held under the shard for 3 s (placement.go). Callers
// watch an id and all its shards (reach.go), so that each knows every member; what is
// said of "empty" and "complete" holds for all of these ids together, and where the
// anchors of an id differ its shards are watched, unless a majority says that it is whole.
//
// So that whoever looks at an id knows whether there is anybody, each shard has 32 deputies: the
// members with the lowest ids, who keep leases under the id above as well. The
// anchors of the shard appoint them, and others at once when they go (sharding.go). Where a
// shard has no more members than that, all are. So an id where each shard has shown
// fewer than 16 for 10 s has everybody already, and is whole again: nobody has to move. Deputies
// say what they are: an anchor that is new to a sharded id learns it from the first
// of them, and from no other anchor. An anchor that lies about shards is outvoted by the others, as
// one that says "empty"; alone it makes callers ask in vain under four more ids.
//
// # Cores and shell
//
// Every decision is made in cores that have no goroutine, clock or socket:
// peerTable, finder, epochTable, anchor, authority, registrar, watcher, and control, which joins
// them (control.go: step handles an event, finish returns actions). The shell
// feeds them and performs what they want (loop.go,
// clusters.go, watch.go). The health core (health.go) is the exception: it is
// shared by all callers, so it consists of atomics and two small mutexes.
//
// # Goroutines
//
// One control loop and two lookup workers for each Clusters; Close ends them and
// waits. Views are immutable and published through atomic pointers; Pick and
// Done run on their callers' goroutines and never block.
//
// # Bounds
//
// An anchor holds at most 512 leases of one cluster id, beside 48 deputies of each shard,
// and 4,096 watches; in all 16,384 leases with 32 MiB of records and as many watches (shares.go). While
// there is room a peer may have all of it. At a bound the peer that holds most gives
// up one, chosen at random, for whoever would still hold less with one more; it is
// told (YIELDED), and comes back after 5 s, then up to a minute. Who holds as much as
// anybody is refused (FULL). So a peer that is one of n is never refused an nth; who
// is there under many ids has many shares.
//
// What is at rest costs nothing by itself: timers are kept in heaps (agenda.go), a
// link's change is looked into for the ids that it concerns (anchorset.go,
// distance.go), lookups at rest are at most two a second, however many clusters a
// node has, and what stands is said all in one, every four to six minutes for each
// pair of nodes; only if the anchor's count or sum differs are leases and watches
// asked for one by one (claims.go).
//
// A lease at rest takes an anchor less than 530 bytes with all that belongs to it, where
// it is the only one of its cluster, and a member takes its node less than 2,300, keys
// included. What is only needed while something is under way is made then and let go
// (waiting, attempt); what others say of a neighbourhood, or lookups, is there only where
// somebody has said or asked something (findings); what is the same for many is kept once
// (nearby, description); what belongs to ids is kept in their order, next to those that
// have the same neighbours (byplace.go).
//
// The inbox bounds frames in all and for each peer; what is dropped there is
// counted (Status.Drops) and asked for again. A caller of more than 64 members
// works with a subset of its own for patterns that need one member.
package cluster

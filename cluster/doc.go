// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster, an inner part of Arke that makes no promise to users, turns a
// cluster's name into its live members, and picks among them. It registers the
// members of this node, anchors clusters for others, and watches the clusters that
// this node calls.
//
// It reads no payload, knows no pattern (such as requests and their retries) and opens
// no connection itself: links come from below.
//
// # How a member becomes known
//
//  1. A cluster has a blinded id that only holders of its key can derive; it changes
//     every few hours (epochs.go). Its anchors are the three nodes closest to the id
//     (anchorset.go), and the closest one of another network (prefix.go).
//  2. The member's node registers with each anchor: a sealed record, a proof that the
//     sender holds the key, and a signature of everything that the anchor stores
//     (registrar.go, registration.go). The anchor checks both, without a key, and holds a
//     lease as long as the session of their link: suspect while its connection is broken,
//     deleted at its end (anchor.go, book.go).
//  3. A caller's node watches the same anchors: a snapshot from each, then numbered deltas
//     (watcher.go, epochview.go). It opens the records, which only holders of the key can
//     seal, and verifies each signature once.
//  4. The view is the union of the anchors' lists (mergeviews.go). A member that one anchor
//     lost is suspect, and one that a majority lost is removed. A node's newest incarnation
//     hides earlier ones, its newest record older ones. While this node's own link to the
//     member's node is up, only a majority makes it suspect. A change merges only the members
//     of the nodes that it concerns (census).
//  5. Pick selects from the view by load, latency and zone (pick.go): first members of this
//     network, then lent members for work that these can't do (tiers.go). Done records the
//     outcome, and slow or failing members are ejected for a while (health.go).
//
// A gateway registers members of another network whose cluster has a key of its own. It
// can't open their records: its own record holds the member's lease, signed for the other
// network, without addresses (passed.go). Callers verify and open both, and know the member
// once, with each such gateway as a path to it. For that, the record of such a cluster has
// two parts: the member's location, readable with the finding key, and everything else.
//
// A new registration asks to be announced: the anchor answers "pending" until each watcher has
// confirmed that its callers see the member, or is suspect, or a second has passed
// (announce.go). Register returns when a majority of the anchors have announced it, and
// watchers believe a majority, so every later call finds the member.
//
// A member is known one round trip after it registered, and so is a broken link. When the
// anchors change, members and watchers register with the new ones before they leave the old
// ones. A member can be faster than a watcher: a member that an old anchor released stays in
// the view until a majority of the new ones have answered, for at most 3 s or eight round
// trips (moving.go).
//
// # Anchors
//
// A node chooses anchors from its own knowledge: its routing table, its lookups, and its
// links. A node named by others is dialled, and counts once there is a link: otherwise the
// names of dead nodes would circulate for ever. An anchor that is unreachable, or silent for
// half a second or four round trips after its first missed answer, is replaced by the next
// one and tried again in the background. If a broken connection is replaced earlier, nothing
// changes, but meanwhile the silent anchor counts neither for "whole" nor for "empty". A node
// that is asked although it is not an anchor serves the request and names the right ones,
// unless it knows eight others closer to the id, can reach them all, and has known the same
// peers for 5 s. Then it refuses (FAR): it accepts no load for distant clusters.
//
// Choosing an id costs a moment of hashing, an address in another network costs more. So the
// fourth anchor is the closest node whose address prefix (IPv4 /16, IPv6 /32) differs from
// those of the three: the address of the link's connection, not the one that the peer claims.
// Private addresses count as one network, so on a LAN and on one machine there are three
// anchors. A node knows a peer's address from its link, so if there are several networks,
// candidates for the fourth anchor are dialled. A node checks whether it is the fourth anchor
// before it answers FAR.
//
// Majorities count all anchors: three of four. If the three closest are of one network, they
// neither remove a member that the fourth lists, nor declare the cluster empty without it.
//
// # Empty
//
// An anchor reports "empty" with authority only if no other node may replace it as anchor, its
// neighbourhood has not changed for 1.5 s, or four of the longest round trips (settling.go), no
// lease has ended with its session in that time, and a majority of the anchors, itself
// included, hold no lease and none reports one (authority.go: they ask each other). A caller
// believes "empty" from a majority of such anchors, under every valid id. Until then the
// answer is unknown. It is also unknown to a node without peers that was given seeds or had
// peers, and to a node with a wrong clock (Config.Doubt). A caller that had members first asks
// up to four of their nodes (crosscheck.go): a node answers for its own members, whether or not
// it is an anchor, and no anchor knows better. The caller waits at most a second for that, and
// only for nodes with a link.
//
// # Shards
//
// An anchor holds up to 512 leases of a cluster id. With one more the id is sharded: the anchor
// refuses further leases and tells its members and watchers. Each of the four shards is an id
// of its own, derived with the cluster's key, so it has other anchors, and only key holders
// know that they belong together. A member's hash selects its shard (shard.go); a shard can be
// sharded again. A member follows a majority of an id's anchors, and leaves the id once it has
// been held under the shard for 3 s (placement.go). Callers watch an id and all its shards
// (reach.go), so they know every member; "empty" and "complete" hold for all of these ids
// together. If the anchors of an id disagree, its shards are watched unless a majority reports
// that the id is whole.
//
// A watcher of an id must learn whether there are members at all. So each shard has 32
// deputies: its members with the lowest ids, which keep leases under the parent id as well. The
// shard's anchors appoint them, and replace them at once when they leave (sharding.go). In a
// small shard all members are deputies. So an id whose shards have all shown fewer than 16
// members for 10 s already has every member, and becomes whole again without any move.
// Deputies announce their role: a new anchor of a sharded id learns of the sharding from the
// first of them, and not from other anchors. An anchor that lies about shards is outvoted, like
// one that reports "empty"; alone it makes callers ask in vain under four more ids.
//
// # Cores and shell
//
// All decisions are made in cores without goroutine, clock or socket: peerTable, finder,
// epochTable, anchor, authority, registrar, watcher, and control, which joins them (control.go:
// step handles an event, finish returns actions). The shell feeds them and performs the actions
// (loop.go, clusters.go, watch.go). The health core (health.go) is the exception: all callers
// share it, so it consists of atomics and two small mutexes.
//
// # Goroutines
//
// One control loop and two lookup workers for each Clusters; Close ends them and waits. Views
// are immutable and published through atomic pointers; Pick and Done run on their callers'
// goroutines and never block.
//
// # Bounds
//
// An anchor holds at most 512 leases of a cluster id, 48 deputies of each shard and 4,096
// watches; in all 16,384 leases with 32 MiB of records, and as many watches (shares.go). While
// there is room one peer may use all of it. At a bound the peer with most yields a lease, chosen
// at random, to a peer that would still hold fewer with one more. It is told (YIELDED), and
// registers again after 5 s, then after up to a minute. A peer that already holds most is
// refused (FULL). So among n peers none is refused an nth; a peer with many ids has many shares.
//
// Idle state costs nothing by itself. Timers are kept in heaps (agenda.go). A change of a link
// concerns only the ids that depend on it (anchorset.go, distance.go). Lookups of an idle node
// are at most two a second, with any number of clusters. Leases and watches are confirmed
// together, every four to six minutes for each pair of nodes, and one by one only if the
// anchor's count or sum differs (claims.go).
//
// An idle lease costs an anchor less than 530 bytes in all, if it is the only one of its
// cluster, and a member costs its node less than 2,300 bytes, keys included. State of an
// operation exists only while it runs (waiting, attempt); reports about a neighbourhood and
// lookups exist only if there are any (findings); common state is shared (nearby, description);
// and state of ids is stored in their order, beside ids with the same neighbours (byplace.go).
//
// The inbox bounds frames in all and for each peer. Dropped frames are counted (Status.Drops)
// and requested again. A caller of more than 64 members uses a subset of its own for patterns
// that need one member.
package cluster

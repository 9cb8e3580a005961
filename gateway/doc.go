// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway, an inner part of Arke that makes no promise to users, lends clusters of
// one network to another. A gateway is one program with a node in each of its networks, so
// it needs no network of its own in between.
//
// Nothing crosses by default. A [Crossing] names one cluster and the direction in which it
// is lent, and says whether the gateway may read the traffic. Derived keys differ between
// networks, so such a gateway decrypts a message in one network and encrypts it again in the
// other. A cluster with a key of its own can cross sealed.
//
// # How a cluster is lent
//
//  1. The gateway watches the cluster in the network it is from (lend.go). While it has
//     members of that network (offer.go decides), the gateway's node in the other network
//     registers a member of the same name, or of the name in the crossing. Its record names
//     the network and a priority.
//  2. Callers there prefer members of their own network; see package cluster on tiers.
//  3. The gateway receives messages for the lent member in encoded form (carry.go). It checks
//     the crossing's limits (border.go) and asks the cluster in the other network, only
//     members there, with the remaining deadline. A survey or a broadcast goes to all members
//     there, and their replies are passed on as they arrive (everybody.go); callers choose one
//     gateway for each network, so no member gets it twice. A tunnel is opened there, too,
//     and the two are joined frame by frame, with credit from end to end (tunnels.go).
//  4. The answer goes back with its meaning (outcome.go).
//
// While the network of a cluster is unreachable (contact.go decides), the cluster stays lent,
// as suspect, and messages for it are refused as unreachable: beyond a broken line the state is
// unknown. Other gateways on this side do not prove that it is reachable, so gateways' nodes
// tell their peers that they are gateways.
//
// A member that is itself lent from elsewhere is neither lent on nor asked: a message crosses
// one border.
//
// # Patterns
//
// A network has no list of clusters, so a cluster of a pattern is lent on request. The
// gateway's patterns are in the lease of a member of $federation in the borrowing network
// (desk.go). A node without members for a name that matches one of them asks these gateways
// (internal/node, lenders.go). Each then lends that cluster (pattern.go), and replies when it is
// lent or known to have no member. A cluster that was not used for five minutes is withdrawn.
// The gateway's own nodes never ask in this way.
//
// # Transit
//
// A crossing with transit also lends what other gateways lend in its network, each network's
// members as a loan of its own (lend.go, loan.go), so callers see the network of each. The
// record of a loan lists the ids of the networks on its path, its own first, and a message lists
// those that it crossed (way.go). Nothing is lent into a network on its list, and no member is
// asked that came through a network on the message's list. The lists are paths as in a
// path-vector protocol (BGP, RFC 4271, section 9.1.2), so loops are impossible, and an ended
// loan is forgotten everywhere. Callers and gateways elect one member for each network by its
// id, so a message for all reaches each network once.
//
// # How topics are lent
//
//  1. While the other network has a subscriber (listening.go decides), the gateway subscribes
//     to the topics of a TopicCrossing, in a queue that all gateways to that network share
//     (topiclend.go).
//  2. Each publisher chooses one gateway, and numbers its messages for the queue: see package
//     pubsub. A message that it also sent to other queues is not delivered to queues of the
//     same name and pattern in the other network.
//  3. The gateway checks the limits and publishes the message in the other network with its
//     publisher. It reports messages beyond the limits, and missing ones, as gaps there.
//
// A message that has crossed a border is in no gateway's queue, so it crosses no other.
//
// # Sealed crossings
//
// With the finding key of a cluster (sealed.go) a gateway sees its members in their network and
// can't open their records. For each, up to 256, it registers a member in the other network. Its
// record is sealed with the finding key and contains the member's own lease, signed by the
// member's node, without addresses. Callers hold the cluster's key, open the lease, and know the
// member by its own id, with one or more gateways as paths to it. They pick it, and seal for it.
// The gateway passes that on unchanged, with the caller as origin, and likewise the reply, whose
// outcome is sealed, too. So a survey or a broadcast goes to each member separately, and the
// gateway retries nothing: the caller does.
//
// A tunnel is passed on likewise (package tunnel, Passages). Beside the sealed opening is the
// tunnel's id on the link, and beside the answer whether frames follow. Frames are passed on
// unchanged, under the other link's id. Each end seals its credit, so a gateway that is slower
// than both ends holds credit back while the data that it permits would not fit.
//
// Two gateways that lend the same member are two paths to it: callers use the one in the better
// state, and distribute members over them by id.
//
// # Shares
//
// With transit a crossing lends members of up to 64 networks, at most 16 of them through one
// peer; networks_limit counts the others. A holder of a network's key can invent networks.
//
// # What the gateway decides
//
// A gateway that may read picks among the members of the other network like any caller there.
// It asks a second one if it is certain that no handler ran, and retries idempotent requests if
// the message has crossed its last border, within its node's budget for retries. Its origin
// decides everything else.
//
// # Trust
//
// With reseal the gateway reads its traffic, and could change, drop or invent it. Through it
// each network learns of the other one only the traffic, the capacity of loans, and the ids of
// members that reply to a survey or are missing from one; with transit also the ids of the
// networks on the path. With a pattern the gateway learns requested names that match it. It
// can't impersonate another node: each node signs its records. A holder of a network's key can
// register a member that claims to be lent, as it could any other member, with any path.
//
// # Limits
//
// Topics cross one border, and are decrypted there. Sealed traffic crosses one border, under
// its own name.
//
// # Goroutines
//
// One for each of the gateway's networks, which checks whether it is reachable; one for each
// network that a crossing lends members of, which watches; one that looks for such networks;
// one for each network that patterns lend to, and for each question there; one that ends unused
// loans; one for each sealed member; one for each survey or broadcast under way (spawn.go); and
// one for each [TopicCrossing], which watches its subscribers. A publication crosses on the
// goroutine that reads it. Close ends them and waits.
package gateway

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway, an inner part of Arke that makes no promise to users, lends
// clusters of one network to another. A gateway has a node in each of its networks and
// is one program, so that it needs no network of its own in between.
//
// Nothing crosses by default. A [Crossing] names one cluster and the direction in
// which it is lent, and says whether the gateway may read what crosses. Derived keys of
// clusters differ by network, so where it may it opens a message in one network and seals
// it again in the other. A cluster with a key of its own can cross unopened.
//
// # How a cluster is lent
//
//  1. The gateway watches the cluster where it is from (lend.go). While it has members
//     there that are that network's own (offer.go decides), the gateway's node in
//     the other network registers a member of the same name, or of the one that the
//     crossing says. Its record names the network and a priority.
//  2. Callers there prefer their own network's members; see package cluster on tiers.
//  3. What comes for the lent member is handed to the gateway as it travels (carry.go):
//     it looks at the crossing's limits (border.go) and asks the cluster in the other
//     network, whose members there only, with the deadline that is left.
//     A survey or a broadcast goes to all members there, whose replies are passed on as
//     they come (everybody.go); callers choose one gateway for each network, so nobody
//     hears it twice.
//     A tunnel is opened there, too, and the two are joined frame by frame, with credit
//     from end to end (tunnels.go).
//  4. The answer goes back with its meaning (outcome.go).
//
// While the network that a cluster is from can't be reached (contact.go decides) it stays
// lent, as suspect, and messages for it are refused as unreachable: of a line that is cut
// nobody here can say what is behind it. Other gateways on this side of it are no proof that
// it can be reached, so gateways' nodes tell their peers what they are.
//
// A member that is itself lent from elsewhere is not lent on and not asked: a message
// crosses one border.
//
// # Patterns
//
// Names of clusters are listed nowhere, so what a pattern stands for is lent when somebody
// asks. The gateway's patterns are in the lease of a member of $federation in the
// borrowing network (desk.go). A node that finds nobody for a name that one of them
// matches asks these gateways (internal/node, lenders.go); each lends that one cluster then
// (pattern.go), and replies when it is lent or known to have no member. What was not used
// for five minutes is not lent any more. The gateway's own nodes ask nobody so.
//
// # Transit
//
// A crossing with transit lends on what others lend in the network it is from, each
// network's members as a loan of its own (lend.go, loan.go), so that callers see which
// network they are from. The record of what is lent lists the ids of the networks that it
// has come through, its own first, and a message those that it has come through
// (way.go). Nothing is lent into a network that is on its list, and nobody is asked who
// has come through one on the message's: the lists are paths as in a path-vector protocol
// (BGP, RFC 4271, section 9.1.2), so nothing can go round, and what has ended is forgotten
// everywhere. Callers and gateways elect one member for each network by its id, so a
// message for all reaches each network once.
//
// # How topics are lent
//
//  1. While somebody in the other network listens (listening.go decides) the gateway
//     subscribes to the topics of a TopicCrossing, in a queue that all gateways to that
//     network share (topiclend.go).
//  2. Publishers choose one gateway each, and number what they give to the queue: package
//     pubsub has that. What they had as well for other queues is not for those of the same
//     name and pattern in the other network.
//  3. What comes is looked at by the limits and published in the other network, with who
//     published it. What is beyond the limits, and what has not come as far, is told there.
//
// What has crossed a border is for no gateway's queue, so it crosses no other.
//
// # What crosses unopened
//
// With the finding key of a cluster (sealed.go) a gateway sees its members, in the network
// that they are in, and can't open their records. For each of them, up to 256, it registers one of its own in
// the other network. The record of that is sealed with the finding key and has the
// member's own lease in it, as its node has signed it, without its addresses.
// Callers, who hold the cluster's key, open it, and know the member by its own id, with
// a gateway, or several, as the way there. They pick it, and seal for it. The gateway passes
// that on as it came, with the caller as origin, and the reply likewise, which hides
// even its outcome. So a survey or a broadcast goes to each member by itself, and nobody
// is asked a second time by the gateway: who picks decides that.
//
// A tunnel is passed on likewise (package tunnel, Passages): beside the sealed opening is the
// id that its frames have on the link, and beside the answer whether they follow. Each goes
// on as it is, under the other link's id. Credit is sealed by who gives it, so a gateway that is
// slower than both ends holds it back as long as what they may send would not fit.
//
// Two gateways that pass the same member on are two ways to one member: callers take the one
// in the better state, and share members out between them by their ids.
//
// # Shares
//
// With transit a crossing lends members of up to 64 networks, 16 of which one peer has
// brought; what is beyond that is counted as networks_limit. Whoever holds the network's key
// can invent networks.
//
// # What the gateway decides
//
// Where it may read, it picks among the members of the far network, as any caller there. It asks a second
// one where it is certain that no handler has run, and repeats what its sender calls
// idempotent, where the message has crossed its last border; the budget for retries is that of its node. Everything else its origin
// decides.
//
// # What a gateway must be trusted with
//
// Where it says reseal, it reads, and could change, drop or invent, what crosses. Of either network the other
// one learns by it only what crosses, the capacity of what is lent, and member ids of who
// replies to a survey or is missing from one, and with transit the ids of the networks
// that what is lent has come through. With a pattern the gateway learns which names are
// asked for that match it. It can't stand for another node: records are signed by the node
// that registers them. Whoever holds a network's key can register a member that claims to
// be lent, as it could register any other member, and claim any way that it came.
//
// # Not yet
//
// Topics cross one border, and are opened there. What crosses unopened crosses one border,
// under its own name.
//
// # Goroutines
//
// One for each of the gateway's networks, which looks whether it is heard, one for each
// network that a crossing lends members of, which watches, one more that
// looks for such networks, one for each network that patterns lend to and for each
// question there, one that ends what is not used, one for each member that is passed on
// unopened, and one for each survey or broadcast under way (spawn.go); and one for each
// [TopicCrossing], which watches who listens. What is published crosses on the goroutine
// that reads it. Close ends them and waits.
package gateway

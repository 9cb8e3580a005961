// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package pubsub, an inner part of Arke that makes no promise to users, is
// topics: messages to everybody who listens to a pattern. It is all three parts
// of a node in it: publisher, receiver, and forwarder for others. Package
// patterns has the promises.
//
// It does not match patterns (package match) or queue for a subscriber (package
// inbox), find the way to those who listen (package fanout), or keep membership (package
// cluster), and sees links through the small interfaces of package env. That nothing is lost while a connection is
// broken is up to the link's session.
//
// # Words
//
//   - A publisher is what this node publishes in one group; a receiver is another
//     node that listens, as its publisher or a forwarder sees it; an audience
//     finds the receivers of a topic.
//   - A fanout numbers messages for its receivers and gives them to hops, one for
//     each link that it uses: directly, or through the branches of a tree.
//   - A path is what a forwarder was told: who is behind it. The uplink leads to a
//     forwarder of the root group.
//   - A source is one session of a publisher, as one who hears it sees it; its
//     sequence puts what comes into order.
//   - A group is what this node listens to under one first word and one set of keys; a
//     proxy is the subscriptions of one client of a relay.
//
// # Who listens
//
// A pattern belongs to the group of its first word. A node that listens has one
// lease in the cluster of the group ("topic:" and the word), with its patterns
// as payload, made coarser if they are many; Subscribe returns when a lease that
// carries or covers the pattern is acknowledged, and the nodes that watch the group know of
// it (group.go, lease.go). Another set of
// patterns is another lease, registered before the old one goes. A publisher watches the
// groups that it publishes in, until 30 s after the last message.
//
// # The way of a message
//
//  1. Engine.Publish, on the caller's goroutine, waits for the first view of the
//     group, and seals the message, once for all, if the group has a key of its
//     own (publish.go, message.go).
//  2. The publisher takes in a new view, finds the receivers, picks one for each queue,
//     if it can one with room, gives each its next number, and puts one copy into lane
//     pub of the link to each (publisher.go, package fanout). Where there is no room
//     the caller waits, and only it. Subscriptions on the same node get the
//     message directly (local.go).
//  3. If more than 16 nodes are interested, copies go to 16 heads at most. Each
//     has been told in a Path, on the same lane, who is behind it, what those
//     listen to and how far they are, and passes the message on: it finds the
//     same nodes, gives the same numbers, and cuts its part into branches in
//     turn (paths.go). Forwarders never wait; who has no room misses the
//     message and sees that by its number.
//  4. The source at the receiver puts what comes into the order of the numbers
//     (source.go, sequence.go); what is missing is waited for 500 ms, or two of the longest
//     round trips, and then reported with its size. Then the message goes to the inboxes of the
//     subscriptions that match, and to each proxy once, inline.
//
// # Keys
//
// A group is named by its first word, and under keys that somebody has brought by the word
// and the id of their set (name.Ref). As with clusters two sets are two groups, of one node
// too: each has its own publisher with its own session, its own lease, and its own index of
// subscriptions (env.GroupKeys, keyed.go, finder.go). Keys that were brought are asked for each time, and kept
// nowhere here: when they are taken back nothing is sealed or opened with them any more.
//
// Others may hold a key in another set, so on the wire a group is its word, and for
// whom a message is says the key that sealed it: it is for all subscriptions of the node whose
// group holds that key, and no others, whatever else is in its frame
// (TestAFrameUnderTwoKeysIsForWhoHoldsEach). Marks and paths name the key that seals beside the
// word, so that a gap is told to the same. What is sealed for some and what is public never
// shares a session. When the next key seals, the session and its numbers go on
// (TestATreeUnderKeysThatWereBrought), and heads are told their paths anew.
//
// Forwarders of a group with keys are nodes that listen to it, and pass on what is sealed as
// it is.
//
// # Numbers
//
// A publisher counts, for each node, what it has addressed to it in this
// session. Whichever way a message takes, it arrives with that count, so order
// and losses are seen across every change of path. A node in a tree that is sent
// something directly is passed by: its forwarders are told with the next
// message that goes their way (wire.Skip). After something was lost with the
// session of a link, after a change of the tree, and after something was dropped
// for want of room, everybody concerned is told the count (wire.PublishMark,
// wire.Path), so that a lost tail is reported, too. Nodes that leave the view are
// counted for ten minutes, without being sent anything: if they return in the same life,
// they learn what they missed. If no node of a queue is in the view, a node that left it is
// counted for the queue. A life (env.LifeOf) is the time
// during which a node listens to the group without a break, under however many leases.
// Counts begin anew for a node that was started anew, or has begun to listen anew, and
// what was for its earlier life it drops. Where they begin anew in one life, the receiver
// reports a gap of unknown size.
//
// # When a link breaks, and when a node dies
//
// A link that is broken, or silent, is suspect at once. What it was given arrives
// when it is back; nobody waits for it: once it has no room, the node goes without
// and is told by its numbers. If it leads to the head of a branch, one of those
// behind the head stands in for it, in a path of its own; the rest of the tree
// stays. A forwarder that sees the same tells the one before it (wire.PathLost),
// and reaches those concerned directly until there is another path. What the head
// had not passed on is waited for 500 ms, as any hole; if the head is back in
// time, nothing is missing. A path counts only in the session of the link that
// it was told in: later there may be holes in it.
//
// Nodes that come, or change their patterns, are reached directly until the next
// tree, half a second after the last one at the earliest. So are topics with at
// most 16 interested nodes, always.
//
// What a publisher's process had not sent is lost with it. Who hears it directly
// sees the end of the link's session, and forwarders pass that on: all are told
// once of a gap of unknown size (patterns.GapPublisher), unless it had been
// silent for 30 s, or said goodbye.
//
// Where rights are asked for, a publisher signs the hash of its certificate in its paths,
// which carry it. So whoever is behind forwarders knows what the publisher may publish, and
// takes no forwarder's word for it (entitlement.go). It asks once for each topic, and again
// when rights have changed; with its own certificate a publisher signs its paths anew.
//
// # The root group
//
// Patterns that begin with a wildcard are in the group "*". Three of its nodes,
// the same for everybody, also register as its forwarders, and those are all
// that publishers watch: a publisher sends each message to one of them
// (uplink.go), which publishes it to the root group in a session of its own
// (rootforward.go). When that forwarder is lost, or its link broken for 3 s,
// what it had of late may or may not have been passed on: the gap that is
// reported is an upper bound. Where it still comes after newer messages that took
// the new way it is dropped as late: a publisher counts what it sends to the root
// group, whoever forwards it (rootorder.go). Groups with explicit keys are not
// sent there: forwarders may lack the key.
//
// # What gateways lend
//
// A gateway lends topics to another network: it listens here, and publishes there. Its
// subscription is of a queue whose name begins with $, which it shares with the other
// gateways to that network (NewLender). Of that a publisher keeps to one member as long as
// it is live, each publisher to the one that is its nearest, and numbers what it gives to
// the queue (fanout.Picker). So each message crosses once, in order, and gateways agree on
// nothing: when one dies each of its publishers goes on with another one.
//
// In the other network a Carrier publishes what came, in sessions of the gateway's node,
// without waiting. Each message ends with who published it, with that number, and with how
// many the gateway knows to be missing (wire.Crossed, within the seal). A node that hears
// it delivers it as of its publisher, PEER@NETWORK, in the order of those numbers
// (abroad.go): what another gateway brings later is late, and where one gateway goes on
// after another the numbers that are between are told as a gap, of reason "border": at most
// so many, as some may have been for others. A gateway to which a publisher returns tells
// the numbers between, too, for those who heard of none of them. That a gateway is lost is told at once, as
// that of any publisher, of unknown size. What a gateway knows to be missing, because it
// was beyond the limits of the border or did not come as far, is told with the next
// message, and to everybody who listens to the group half a second later.
//
// What crossed a border is for no gateway's queue, so it crosses no other, and can't go
// round. A queue that had a message where it was published does not get it elsewhere, if
// it has the same name and pattern there. Nothing of it is signed: who asks for that has a
// gap in its place. Who may publish to a topic may say that it is a gateway, and brings
// what somebody elsewhere has published: it could publish that itself.
//
// Not told: what was given to the first gateway that a publisher has, if that dies before
// anybody there has heard of either.
//
// # Guarantees
//
//   - Each subscription gets a message at most once; of one publisher, those of
//     one group in the order in which they were published.
//   - Delivered + reported = sent, for every node that listens all the time and
//     lives. The size of a gap is exact where all subscriptions of the node in
//     that group want the same, else an upper bound (Gap.Exact); under keys, in all groups
//     of that word that have some.
//   - What was given to a queue's last subscription on a node before publishers
//     knew that it ends is still delivered by it (group.retire). Nobody else gets
//     what is given to a node that dies.
//   - A member of a queue that has no room, or is suspect, holds nobody up as long
//     as another one of it has room when the message is published.
//   - TryPublish sends nothing if there is no room anywhere. If another
//     goroutine takes the room at the same moment, the node concerned gets a gap
//     instead.
//   - Not reported with its size: what is lost with the publisher's process; what
//     was published while a node could not be reached for more than ten minutes;
//     and what was lost last if it stays out of reach until the publisher, silent,
//     has let go of the group (as long).
//
// # Who is believed
//
// A node speaks for itself on its own links. Whoever speaks for a publisher is
// believed if the publisher has signed for it with its node key:
//
//   - A publisher that tells heads who is behind them signs a digest of its tree, once
//     for all that are told together (fanout.Signer): each node in it with its run and
//     what had been addressed to it. Forwarders hand on what leads from there to each
//     node behind them, which verifies it once a path, and believes those between it
//     and the publisher (belief.go; TestNobodySpeaksForAPublisherThatHasNotSignedForIt).
//   - A forwarder's numbers, in messages, marks and paths, count up to 65,536 beyond
//     what the path says, and not beyond what the next path says had been addressed by
//     then. The publisher signs anew at half of that. Where a forwarder went further
//     than its publisher, the next path shows it, and numbers go on from there; so does
//     a message of the publisher itself, which would be late: it is asked for numbers
//     that begin anew (TestAForwarderDoesNotGoBeyondWhatThePublisherSigned). As long as
//     a forwarder is on the path it can withhold what it should pass on, and invent
//     messages that are not sealed, for those who ask for no signatures.
//   - Older paths are refused, or good only for what is older than the newer ones
//     (TestAnOldPathIsGoodForNothing).
//   - In the root group a publisher signs for its one forwarder, and how far it was when
//     it chose it; each message carries that, and it is verified once
//     (TestNobodyIsAPublishersForwarderInTheRootGroupUnlessItSaysSo).
//   - That a path is lost is believed of the head of its branch, about those behind it
//     (TestOnlyTheHeadOfABranchSaysThatItIsLost).
//
// A path costs one signature (22 us) for all branches that are told at once, and each
// receiver one verification (55 us) and about 500 bytes. Messages cost nothing, but for
// 89 bytes of each frame of the root group.
//
// A subscription may ask for more (Signed): that each message carries its publisher's
// signature, over network, life, session, serial, topic, headers and body
// (authorship.go). The lease says that somebody asks; publishers then sign what is on a
// topic that it matches, once for all, before they seal it, and whoever passes it on
// leaves it as it is. In the root group its forwarders register with that. Where somebody
// asks, a message costs its publisher one signature (25 us) and 88 bytes, and each node
// that asks one verification (60 us) on the reader of the link; nobody else anything
// (TestPublishersSignOnlyWhereSomebodyAsks). What is not signed so, or comes again, is
// dropped for those who ask, and told to them as a gap of reason "unsigned", an upper
// bound (TestWhoAsksForSignaturesGetsWhatThePublisherHasSigned). What is published before
// the publisher has the lease, or within env.CandidateTime for the root group, is not signed.
// Which node has a message for a queue is not signed: a forwarder may give it to another
// one, or to two.
//
// A sealed message has a serial, which its publisher's node uses once in its life. A
// receiver hands it on once, of the newest 512 of each session, and of older ones none
// that a forwarder shows. All paths carry a floor below which nothing is sealed for
// them: a node that has just started, or has forgotten a session, takes by a forwarder
// nothing that was sealed before it was known, and can't know whether what was
// published before then reached its earlier life
// (TestASealedMessageIsDeliveredOnce, TestASessionThatWasForgottenIsNotPlayedBack).
// What the publisher itself sends it may have sealed at any time.
//
// # Bounds
//
// Subscriptions of a node; 8 KiB of patterns in a lease; 1 MiB that waits for a
// link to be established; 4 MiB and 4,096 messages behind a hole; 65,536
// publishers remembered, as many of the root group, and of as many sessions that are
// forgotten their last serials; four paths that lead here, of each session; 4,096 sessions forwarded,
// of four paths each, 16,384 nodes behind this one in each; 10,000 signatures a second of each
// peer, 200 of them false, and five times as many at once (env.Signers). Where as many
// publishers or sessions are remembered as may be, one of whoever has brought most goes for
// another one: a publisher that was heard is new then, and a gap may be told that is none.
// What goes beyond is
// refused or dropped by a named reason (env.DropReason), and shows as a gap where it
// concerns a subscription.
//
// # Goroutines and locks
//
// None of its own. Publishers use theirs, leases are renewed on the Exec's
// workers, frames and events are handled on the overlay's readers, which never
// block here. A timer runs for each hole, one for each publisher that owes
// somebody its number, one while anything is kept, and one in a node with root
// patterns.
//
// There is one lock for each group that is published in, for each path, for each
// source, and for each group that is listened to; each owns all below it, and
// none is held while another one is taken, but for that of a map of them that is
// swept. What a source decides is done after its lock was released, in order
// (after.InOrder).
package pubsub

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package pubsub is topics: messages to everybody who listens to a pattern. It
// is all three parts of a node in it: publisher, receiver, and forwarder for
// others. Package patterns has the promises.
//
// It does not match patterns (package match) or queue for a subscriber (package
// inbox), keeps no membership (package cluster), and sees links through the
// small interfaces of network.go.
//
// # Who listens
//
// A pattern belongs to the group of its first word. A node that listens has one
// lease in the cluster of the group ("topic:" and the word), with its patterns
// as payload, made coarser if they are many; Subscribe returns when a lease that
// carries or covers the pattern is acknowledged (group.go, interests.go).
// Another set of patterns is another lease, registered before the old one goes.
// A publisher watches the groups that it publishes in, until 30 s after the last
// message.
//
// # The way of a message
//
//  1. Engine.Publish, on the caller's goroutine, waits for the first view of the
//     group, and seals the message, once for all, if the group has a key of its
//     own (publish.go, outgoing.go).
//  2. The course, which is what is published in one group, takes in a new view
//     (attend.go), finds the interested nodes (audience.go), picks one for each
//     queue (picker.go), gives each its next number, and puts one copy into the
//     pipe to each (course.go, spread.go). Where there is no room the caller
//     waits, and only it. Subscriptions on the same node get the message
//     directly.
//  3. If more than 16 nodes are interested, copies go to 16 heads at most. Each
//     has been told in a Path, on the same lane, who is behind it, what those
//     listen to and how far they are, and passes the message on: it finds the
//     same nodes, gives the same numbers, and cuts its part into branches in
//     turn (leg.go, tree.go). Forwarders never wait; who has no room misses the
//     message and sees that by its number.
//  4. The pipe puts frames into lane pub of the link, all of them, so that they
//     arrive in order; what is larger than a frame in parts. It keeps a copy of
//     each until the peer has acknowledged it (pipe.go, history.go). The inlet at
//     the other end counts them, and hands each on once (inlet.go, intake.go).
//  5. The stream at the receiver puts what comes into the order of the numbers
//     (sequence.go); what is missing is waited for 500 ms and then reported with
//     its size. Then the message goes to the inboxes of the subscriptions that
//     match (receive.go).
//
// # Numbers
//
// A publisher counts, for each node, what it has addressed to it in this
// session. Whichever way a message takes, it arrives with that count, so order
// and losses are seen across every change of path. A node in a tree that is sent
// something directly is passed by: its forwarders are told with the next
// message that goes their way (wire.Skip). After something was lost with a link,
// after a change of the tree, and after something was dropped for want of room,
// everybody concerned is told the count (wire.PublishMark, wire.Path), so that a
// lost tail is reported, too. Nodes that leave the view are counted for, without
// being sent anything, for ten minutes: if they come back with a lease of before,
// they learn what they missed.
//
// # When a link breaks
//
// Then nobody need have died. The pipe calls the peer at once, and again every
// second, and keeps what it had sent as well as what it is given meanwhile. In
// the next session of the link it says which frame comes first
// (wire.PublishResume), and sends all that was not acknowledged; the inlet skips
// what it has. So a link may break at any time, and neither this package above
// the pipe nor the receiver notices more than a delay, be the frame a message, a
// path or a mark. What is for a node as it was before it was started anew is not
// for what is there now, and skipped, too.
//
// Acknowledgements come every 32 frames or 64 KiB, every ten seconds, and when a
// node drains. What could not be sent again, because more than 4 MiB were not
// acknowledged, or the link did not come back within 15 s, is noted as a loss:
// everybody concerned is told the count, paths are told anew, and a forwarder
// passes on nothing until they are (leg.void).
//
// Where messages for many go through the lost link, its head has 250 ms, or
// until the call fails, to come back; the publisher waits as long, as it may be
// that it has to choose another way. What the head has not acknowledged then goes
// to those behind it once more, with the same numbers, through one of them that
// stands in for it: the loss of a head costs the publisher one more copy
// (replay.go). The head itself is reached directly until it has what is kept for
// it. The leases of a node that are gone because its links broke count for that
// long, and while the pipe keeps for it.
//
// Nobody waits for a node that can't be called, or that is suspect: once there
// is no room for it, it goes without.
//
// # When a node dies
//
// The loss of a head is seen by the publisher; that of another forwarder is
// told by the one before it (wire.PathLost). Then there is another tree at once,
// with the next epoch; what is on its way in the old one still arrives. Nodes
// that come, or change their patterns, are reached directly until the next tree,
// half a second after the last one at the earliest. So are topics with at most
// 16 interested nodes, always.
//
// # The root group
//
// Patterns that begin with a wildcard are in the group "*". Three of its nodes,
// the same for everybody, also register as its forwarders, and those are all
// that publishers watch: a publisher sends each message to one of them
// (upward.go), which publishes it to the root group in a session of its own
// (forwarder.go). When that forwarder is lost, what it had of late may or may
// not have been passed on: the gap that is reported is an upper bound. Where it
// still comes after newer messages that took the new way it is dropped as late:
// a publisher counts what it sends to the root group, whoever forwards it
// (line.go). Groups with explicit keys are not sent there: forwarders may lack
// the key.
//
// # Guarantees
//
//   - Each subscription gets a message at most once; of one publisher, those of
//     one group in the order in which they were published.
//   - Delivered + reported = sent, for every node that listens all the time and
//     lives. Links that break and come back within 15 s cost it nothing of what
//     is sent to it directly, as far as 4 MiB go; nor, through a tree, if the
//     link is the publisher's, or leads to a forwarder before it. Of its own link
//     to the forwarder before it the tree knows nothing: if that is not back
//     before the hole is given up, after 500 ms, what was on it is reported if
//     there is another tree meanwhile. The size of a gap is exact where all
//     subscriptions of the node in that group want the same, else an upper bound
//     (Gap.Exact).
//   - What was given to a queue's last subscription on a node before publishers
//     knew that it ends is still delivered by it (group.retire). Nobody else gets
//     what is given to a node that dies.
//   - TryPublish sends nothing if there is no room anywhere. If another
//     goroutine takes the room at the same moment, the node concerned gets a gap
//     instead.
//   - Not reported: what is lost when the publisher's node is lost, because
//     nobody knows it any more; what was published while a node could not be
//     reached for more than ten minutes; and what was lost last if it stays out
//     of reach until the publisher, silent, has let go of the group (as long).
//
// # Bounds
//
// Subscriptions of a node; 8 KiB of patterns in a lease; 4 MiB kept for each peer,
// freed when it has acknowledged all, or after 15 s without a link; one message
// from each peer of which parts have come; 4 MiB and 4,096 messages behind a
// hole; 65,536 publishers remembered, and as many of the root group; 4,096
// sessions forwarded, 16,384 nodes behind this one in each. What goes beyond is
// refused or dropped by a named reason (drops.go),
// and shows as a gap where it concerns a subscription.
//
// # Goroutines
//
// None of its own. Publishers use theirs, leases are renewed on the Exec's
// workers, frames and events are handled on the overlay's readers, which never
// block here. A timer runs for each hole, one for each pipe whose link is down,
// one while anything is kept, and one in a node with root patterns. Locks are
// taken in the order inlet, stream, course or leg, pipe; Engine.mu is the
// innermost.
package pubsub

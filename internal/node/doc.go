// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package node is one participant of an Arke network: it puts the layers together
// and hands calls down. It has no protocol logic of its own. Relays and the
// simulator run it. Programs get one from the function Join of the public package
// of the same name.
//
// A program that runs beside a relay has a client of package relay/client instead;
// both implement patterns.Messenger.
//
// # Life
//
// [New] checks the configuration, opens the data directory and starts nothing.
// [Node.Start] listens and looks for the network. From then on a node serves
// and calls; it also routes, and keeps leases for clusters that are none of its
// business, as every node does.
//
// [Node.Shutdown] leaves in order, so that nobody loses a request:
//
//  1. New registrations are refused, and the leases of all members withdrawn.
//  2. The leases of subscriptions are withdrawn; a quarter of a second later
//     the subscriptions end, after what they have is delivered.
//  3. Members refuse new requests, and whatever else is sent to them, as
//     draining, which makes callers try another one; what was accepted is
//     finished, pushes and broadcasts too. What is sent from here still works,
//     as handlers may need it.
//  4. The node stays until callers have stopped to send, a quarter of a second
//     at least, two at most.
//  5. Handlers of tunnels return. Tunnels that were opened here have until then,
//     too, to end.
//  6. The links say goodbye, after what is queued on them was sent. What the node has
//     sent to itself is handled: a call from here gets the reply of a member here.
//  7. Close.
//
// [Node.Close] ends everything at once, from the top down: requests and
// handlers, clusters, links and transport, workers, data directory. It waits
// for handlers to return, so it must not be called by one.
//
// # Which cluster
//
// A cluster is a name under a set of keys: whoever has other keys for the same name
// serves and calls another cluster. The node's own keys for a name, explicit or
// derived, stay with it for life, also when they are replaced by newer ones: the bare
// name stands for them everywhere. Clients of a relay bring keys of their own
// ([Node.Bring]), each as it likes. There the set counts as it was brought: its id is
// of the keys, versions and times in it, and name#id, a reference, stands for the
// cluster wherever names stand: in the table of clusters, the routes and ledgers of
// calls, in logs and status. So it is with groups of topics, but topics and patterns stay
// as they are: the id goes beside them, in the options of publishing and subscribing.
// Nothing but the keyring and package pubsub looks into a reference, and no name that a
// user may choose ends so.
//
// That a set with one more key is another cluster is on purpose. Clients that have
// the old file and the new one find each other all the same, since they share a key
// and with it the ids under which anchors list members; the node watches such an id
// once. To join them would let who has only an old key, which leaked, decide by a
// newer one of its own what others seal with.
//
// # Data directory
//
//	lock         held while a node uses the directory; a second one is refused
//	node.key     the node's identity, mode 0600
//	incarnation  counts the starts; written before the node can be seen
//	peers.json   the peers known last
//
// # Goroutines
//
// None of its own. Handlers run on workers, at most Config.Workers at once, and brief
// ones where their requests are read.
package node

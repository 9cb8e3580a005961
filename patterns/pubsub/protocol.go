// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import "time"

// Prefix begins the names of the clusters in which nodes that listen to a group
// of topics register. Services can't have such names.
const Prefix = "topic:"

const (
	rootGroup = "*" // the group of patterns that begin with a wildcard
	// rootForwards is the group in which the root group's forwarders register.
	// With its point it is no first word of a topic or pattern.
	rootForwards = "*.forward"
)

// Times of topics.
const (
	// holeTime is how long a message is waited for that others have overtaken, or
	// holeTrips round trips: what came directly overtakes what came through a tree.
	holeTime  = 500 * time.Millisecond
	holeTrips = 2
	// idleTime is how long a publisher watches a group after the last message.
	idleTime = 30 * time.Second
	// streamTime is how long a receiver remembers a publisher that is silent:
	// for longer than its session can last.
	streamTime = 15 * time.Minute
	// roomTime is how often a full table is looked through for what has been silent:
	// whoever fills it must not have each of its messages cost that.
	roomTime = time.Second
	// ghostTime is how long a publisher counts for a receiver that is lost, so
	// that it can be told what it missed.
	ghostTime = 10 * time.Minute
	// lingerTime is how long a node that drains still takes what is under way.
	lingerTime = 250 * time.Millisecond
	// recentTime is how long a forwarder of the root group may take to pass on
	// what it got, and its loss to be noticed.
	recentTime = 2 * time.Second
	// electionTime is how long the root group may take to have another
	// forwarder.
	electionTime = 10 * time.Second
	sweepTime    = 10 * time.Second
	// completeTime, or completeTrips round trips, is how long the first message waits for
	// the anchors that have not told whom they know: they are dialled, and a new one
	// settles first.
	completeTime  = 2500 * time.Millisecond
	completeTrips = 10
	// redialTime passes before a receiver that could not be reached is dialled
	// again.
	redialTime = time.Second
	// keepTime is how long something waits for a link that can't be established.
	keepTime = 15 * time.Second
	// doubtTime is how long the link to the root group's forwarder may be broken
	// before another one is taken.
	doubtTime = 3 * time.Second
	// graceTime, or graceTrips round trips, is how long a node to which there is a link
	// is sent what its leases asked for when it is in no view any more.
	graceTime  = time.Second
	graceTrips = 2
	// rebuildTime is the least time between two trees, unless one is broken.
	rebuildTime = 500 * time.Millisecond
	// leaseTime collects changes of what a node listens to.
	leaseTime = 5 * time.Millisecond
	// rosterTime is how often a node with root patterns looks whether it should
	// be a forwarder of the root group.
	rosterTime = time.Second
	// defaultTimeout is for contexts without a deadline.
	defaultTimeout = 5 * time.Second
	// doubtAgainTime passes before a source is asked again to number anew what it
	// addresses to this node.
	doubtAgainTime = 10 * time.Second
	// unsureTime is how long after a change of what a node listens to the size
	// of a gap is an upper bound only.
	unsureTime = 2 * time.Second
)

// Limits of topics.
const (
	// MaxMessage bounds headers and body of a publication, in bytes.
	MaxMessage = 1 << 20
	// maxKeyedWord bounds the first word of topics that have keys of their own, in bytes.
	maxKeyedWord = 160
	// fanOut is how many copies of a message one node sends.
	fanOut = 16
	// maxWaiting bounds what waits for the first session of a link, in bytes; one
	// message may be larger.
	maxWaiting = 1 << 20
	// maxHeld and maxHeldBytes bound what waits behind a hole, for each
	// publisher.
	maxHeld      = 4096
	maxHeldBytes = 4 << 20
	// maxStreams bounds the publishers that are remembered.
	maxStreams = 1 << 16
	// maxForwarded bounds the sessions that this node forwards.
	maxForwarded = 4096
	// maxStops bounds the nodes behind this one on one path.
	maxStops = 1 << 14
	// maxPicks bounds the queues that one message is for.
	maxPicks = 1024
	// maxQueued bounds what a lease says of queues, in bytes: the rest is for
	// patterns, which can be told coarser.
	maxQueued = maxPayload - 1<<10
	// maxQueueName bounds the name of a queue, in bytes.
	maxQueueName = 255
	// pathBytes bounds one part of a path.
	pathBytes = 48 << 10
	// maxRelayedGap bounds what one publisher can say is missing in the root
	// group, whose count belongs to all: nobody has lost so much.
	maxRelayedGap = 1 << 32
	// maxLead bounds how far beyond what the publisher signed forwarders are believed
	// to be, in messages to one node: at half of it the publisher signs anew.
	maxLead = 1 << 16
	// maxSkips is how many skips travel with a message; beyond, the path is
	// told anew.
	maxSkips = 128
)

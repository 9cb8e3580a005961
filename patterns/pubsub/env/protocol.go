// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// Prefix begins the names of the clusters in which nodes that listen to a group
// of topics register. Services can't have such names.
const Prefix = "topic:"

const (
	RootGroup = "*" // the group of patterns that begin with a wildcard
	// RootForwards is the group in which the root group's forwarders register.
	// With its point it is no first word of a topic or pattern.
	RootForwards = "*.forward"
)

// Times of topics.
const (
	// HoleTime is how long a message is waited for that others have overtaken, at the
	// least; see Hole.
	HoleTime = 500 * time.Millisecond
	// IdleTime is how long a publisher watches a group after the last message.
	IdleTime = 30 * time.Second
	// StreamTime is how long a receiver remembers a publisher that is silent:
	// for longer than its session can last.
	StreamTime = 15 * time.Minute
	// RoomTime is how often a full table is looked through for what has been silent:
	// whoever fills it must not have each of its messages cost that.
	RoomTime = time.Second
	// GhostTime is how long a publisher counts for a receiver that is lost, so
	// that it can be told what it missed.
	GhostTime = 10 * time.Minute
	// LingerTime is how long a node that drains still takes what is under way.
	LingerTime = 250 * time.Millisecond
	// RecentTime is how long a forwarder of the root group may take to pass on
	// what it got, and its loss to be noticed.
	RecentTime = 2 * time.Second
	// ElectionTime is how long the root group may take to have another
	// forwarder.
	ElectionTime = 10 * time.Second
	SweepTime    = 10 * time.Second
	// RedialTime passes before a receiver that could not be reached is dialled
	// again.
	RedialTime = time.Second
	// KeepTime is how long something waits for a link that can't be established.
	KeepTime = 15 * time.Second
	// DoubtTime is how long the link to the root group's forwarder may be broken
	// before another one is taken.
	DoubtTime = 3 * time.Second
	// RebuildTime is the least time between two trees, unless one is broken.
	RebuildTime = 500 * time.Millisecond
	// LeaseTime collects changes of what a node listens to.
	LeaseTime = 5 * time.Millisecond
	// CandidateTime is how often a node with root patterns looks whether it should
	// be a forwarder of the root group.
	CandidateTime = time.Second
	// DefaultTimeout is for contexts without a deadline.
	DefaultTimeout = 5 * time.Second
	// DoubtAgainTime passes before a source is asked again to number anew what it
	// addresses to this node.
	DoubtAgainTime = 10 * time.Second
	// UnsureTime is how long after a change of what a node listens to the size
	// of a gap is an upper bound only.
	UnsureTime = 2 * time.Second
)

// What takes round trips is waited for for longer where these are long.
var (
	// Hole is how long a message is waited for that others have overtaken: what came
	// directly overtakes what came through a tree.
	Hole = overlay.Patience{Time: HoleTime, Trips: 2}
	// Completing is how long the first message waits for the anchors that have not told
	// whom they know: they are dialled, and a new one settles first.
	Completing = overlay.Patience{Time: 2500 * time.Millisecond, Trips: 10}
	// Grace is how long a node to which there is a link is sent what its leases asked for
	// when it is in no view any more.
	Grace = overlay.Patience{Time: time.Second, Trips: 2}
)

// Limits of topics.
const (
	// MaxMessage bounds headers and body of a publication, in bytes.
	MaxMessage = 1 << 20
	// maxKeyedWord bounds the first word of topics that have keys of their own, in bytes.
	maxKeyedWord = 160
	// FanOut is how many copies of a message one node sends.
	FanOut = 16
	// MaxWaiting bounds what waits for the first session of a link, in bytes; one
	// message may be larger.
	MaxWaiting = 1 << 20
	// MaxHeld and maxHeldBytes bound what waits behind a hole, for each
	// publisher.
	MaxHeld      = 4096
	MaxHeldBytes = 4 << 20
	// MaxStreams bounds the publishers that are remembered.
	MaxStreams = 1 << 16
	// MaxForwarded bounds the sessions that this node forwards.
	MaxForwarded = 4096
	// MaxStops bounds the nodes behind this one on one path.
	MaxStops = 1 << 14
	// MaxPicks bounds the queues that one message is for.
	MaxPicks = 1024
	// MaxQueued bounds what a lease says of queues, in bytes: the rest is for
	// patterns, which can be told coarser.
	MaxQueued = MaxPayload - 1<<10
	// MaxQueueName bounds the name of a queue, in bytes.
	MaxQueueName = 255
	// PathBytes bounds one part of a path.
	PathBytes = 48 << 10
	// MaxRelayedGap bounds what one publisher can say is missing in the root
	// group, whose count belongs to all: nobody has lost so much.
	MaxRelayedGap = 1 << 32
	// MaxLead bounds how far beyond what the publisher signed forwarders are believed
	// to be, in messages to one node: at half of it the publisher signs anew.
	MaxLead = 1 << 16
	// MaxSkips is how many skips travel with a message; beyond, the path is
	// told anew.
	MaxSkips = 128
)

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// Subscription is one subscription of one life of a node.
type Subscription struct {
	Name    string // of the scenario's entry
	Node    string
	Peer    string
	Pattern string
	Queue   string
	NoEcho  bool
	Slow    bool          // it takes its time, or bounds what waits: gaps of its own are to be expected
	Asked   time.Duration // Subscribe was called
	From    time.Duration // Subscribe returned; -1 = it failed
	Leaving time.Duration // it was closed, or its node was told to leave, killed or lost; -1 = never
	Until   time.Duration // nothing comes any more; -1 = never
	Err     string        // why it failed
}

// Publication is one message of a topic, from the publisher's side.
type Publication struct {
	ID        uint64 // unique in the run; the first 8 bytes of its body
	Work      string // name of the workload; "probe" in the liveness phase
	Publisher string // node
	Peer      string
	Topic     string
	Size      int
	Sent      time.Duration // Publish was called
	Deadline  time.Duration
	Ended     time.Duration // Publish returned; -1 = it never did
	Outcome   string        // published, or an outcome of requests
	Detail    string        // text of an outcome "other"
	Lost      bool          // the publisher's own node was stopped, killed, lost or paused meanwhile
}

// Copy is one copy of a publication that one node sent to another, in the order
// in which they were sent. Level sim hears them; those of sealed publications,
// and of what is cut into fragments, it can't tell.
type Copy struct {
	Publication uint64
	From, To    string // nodes
	At          time.Duration
	Bytes       int // of the frame
}

// Delivery is a publication that a subscription got.
type Delivery struct {
	Publication  uint64
	Subscription int // index into History.Subscriptions
	At           time.Duration
	Wrong        string // what it was told wrongly: topic and publisher
}

// Gap is what a subscription was told of messages that it did not get.
type Gap struct {
	Subscription int // index into History.Subscriptions
	At           time.Duration
	Peer         string // of the publisher; "" = several
	Missed       uint64
	Exact        bool
	Reason       string // slow, lane, lost, relay
}

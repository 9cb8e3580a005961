// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// History is a whole run. Slices are in a canonical order (by time, then by
// the other fields), so that equal runs give equal histories.
type History struct {
	Start  time.Duration // when the network stood and the workload began
	Safety time.Duration // when the timeline and the workload ended and everything was healed
	End    time.Duration // when the liveness phase was over

	// Rough are callers and nodes of members between whom packets are lost, or
	// wait before a bottleneck, without any fault.
	Rough [][2]string

	Nodes    []Node
	Requests []Request
	Runs     []Run
	Tenures  []Tenure
	Faults   []Fault
	Views    []View
	Samples  []Sample

	Subscriptions []Subscription
	Publications  []Publication
	Deliveries    []Delivery // those of one subscription in the order in which it got them
	Gaps          []Gap      // likewise
	Copies        []Copy     // level sim only
	Tunnels       []Tunnel
	Carried       []Carried
}

// Node is one life of a node.
type Node struct {
	Name    string
	Relay   string // it is a client of this node, whose Zone, Peer, Key and Keys it has
	Zone    string
	Peer    string
	Key     string            // label of its network key
	Keys    map[string]string // cluster → label of the explicit key it holds for it, if it holds one
	From    time.Duration     // Start returned
	Leaving time.Duration     // it was told to leave, or was lost; -1 or 0 = never
	Until   time.Duration     // it was stopped, killed or lost; -1 = alive at the end
	How     string            // stopped, crashed, silenced; "" = alive at the end
	Correct bool              // it was alive at the end of the liveness phase
}

// Run is one call of a handler that takes a message; tunnels have their own.
type Run struct {
	Request uint64
	Tenure  int // index into History.Tenures
	Began   time.Duration
	Ended   time.Duration // -1 = it did not return
	Expires time.Duration // the deadline that the handler was told, since the run began; -1 = none
}

// Tenure is one registration of a member.
type Tenure struct {
	Cluster string
	Serial  bool // its handlers run one after the other
	Node    string
	Peer    string
	Member  string        // id; "" if the registration failed
	Asked   time.Duration // Serve was called: requests may come from here on
	From    time.Duration // Serve returned; -1 = it failed
	Leaving time.Duration // its node was told to leave, was killed, or was lost; -1 = never
	Until   time.Duration // nothing can run any more; -1 = never
	Err     string        // why the registration failed
}

// Fault is one primitive action of the timeline, when it was applied.
type Fault struct {
	At    time.Duration
	Until time.Duration // when it was undone; At if it is over at once; -1 = never
	Do    string
	Nodes []string // whom it hits
	// Between has the two sides of a fault of links; for a one-way fault, from
	// the first to the second. Without it a fault of links counts as if its
	// Nodes were cut off from everybody.
	Between [][]string
	Text    string // for people: "crash m1", "cut a1,a2 | b1"
}

// View is a change of what a node sees of one member of a cluster that it
// calls. The player samples; Views hold changes only. Each life of a node
// begins with empty views; that a node stops watching is no change.
type View struct {
	At      time.Duration
	Node    string // the observer
	Cluster string
	Member  string // id
	Peer    string
	State   string // live, suspect, ejected, unreachable; "" = no longer in the view
}

// Sample is what a node used, about once a second.
type Sample struct {
	At        time.Duration
	Node      string
	Sent      [4]uint64 // bytes sent so far by this life of the node, by lane: ctl, rpc, pub, bulk
	Queued    [4]uint64 // bytes waiting in lanes
	Waiting   int       // requests waiting at its members
	Running   int       // handlers running
	Links     int
	Leases    int // held as an anchor
	Evictions uint64
}

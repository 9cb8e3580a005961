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
	Acts     []Act // of adversaries

	Crossings []Crossing // what gateways lend from one network to another
	Hops      []Hop      // level sim only; in the order in which they were sent

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
	Network string            // that it is in; "" = there is only one
	Key     string            // label of its network key; Excluded = it is banned, revoked, or left out
	Seeds   []string          // nodes that it dials to join: itself if it waits for others; none = not known
	Keys    map[string]string // cluster → label of the explicit key it holds for it, if it holds one
	From    time.Duration     // Start returned
	Leaving time.Duration     // it was told to leave, or was lost; -1 or 0 = never
	Until   time.Duration     // it was stopped, killed or lost; -1 = alive at the end
	How     string            // stopped, crashed, silenced; "" = alive at the end
	Correct bool              // it was alive, and no stranger, at the end of the liveness phase
	// Gateway says that it is one, with a peer id in each of its networks, by their names.
	Gateway map[string]string
	// Adversary says that it does harm at some time of the run: nothing is promised to it.
	Adversary bool
}

// Excluded is the Key of a node that is out: nothing is promised to it any more.
const Excluded = "excluded"

// Crossing is one cluster, or topics, of a network that a gateway lends to another one.
type Crossing struct {
	Gateway  string // node
	From, To string // networks
	Cluster  string // in From; "" = topics
	Topic    string // in From, a pattern; "" = a cluster
	As       string // what the cluster, or the first word of the topics, is called in To
	Transit  bool   // it lends on what others lend to From
}

// Hop is a frame that asks for something, or opens a tunnel, which one node sent to
// another where one of the two is a gateway. Level sim hears them; those that are sealed,
// and what is cut into fragments, it can't tell.
type Hop struct {
	Request  uint64 // of Request, or of Tunnel
	From, To string // nodes
	At       time.Duration
	Network  string   // in which it was sent
	Passed   []string // networks that it is said to have come through; none = it is from this one
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
	Serial  bool          // its handlers run one after the other
	Places  int           // how many of its handlers run at once, and
	Work    time.Duration // how long one takes on average; 0 = not known
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

// Removes tells actions that end a node's life.
func Removes(do string) bool { return do == "crash" || do == "silence" || do == "stop" }

// Act is what an adversary did.
type Act struct {
	At    time.Duration
	Node  string
	What  string // for people: "forges marks"
	Count int    // how often
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
	Network string // that has lent it; "" = it is the observer's own network's
}

// Sample is what a node used, about once a second.
type Sample struct {
	At      time.Duration
	Node    string
	Sent    [4]uint64 // bytes sent so far by this life of the node, by lane: ctl, rpc, pub, bulk
	Queued  [4]uint64 // bytes waiting in lanes
	Waiting int       // requests waiting at its members
	Running int       // handlers running
	Links   int
	Leases  int    // held as an anchor
	Held    []Held // by a relay, for its clients
}

// Held is what a relay held for one client.
type Held struct {
	Client string
	Bytes  uint64 // not sent to it, or not acknowledged by it
}

// Request is one request, push, survey or broadcast of the workload, a flood or
// the probes of the liveness phase, from the caller's side.
type Request struct {
	ID         uint64 // unique in the run; the first 8 bytes of its body
	Kind       string // push, survey, broadcast; "" or request
	Work       string // name of the workload; "probe" in the liveness phase
	Caller     string // node
	Cluster    string
	Idempotent bool
	Sent       time.Duration
	Deadline   time.Duration // since the run began
	Ended      time.Duration // -1 = it never did
	Outcomes   int           // how often it ended; 1 is right
	// Outcome is reply, refused, no_members, overloaded, unreachable,
	// interrupted, deadline, cancelled, unauthorized, too_large, closed,
	// wrong_reply, other; of a push accepted instead of reply; of a survey or
	// a broadcast that asked somebody complete or partial.
	Outcome  string
	MaybeRan bool   // deadline and cancelled: what the error said
	Detail   string // text of an outcome "other"
	Attempts int
	Member   string // that gave the outcome, if known
	Lost     bool   // the caller's own node was stopped, killed, lost or paused meanwhile: it counts for nothing but "has one outcome"

	// Of surveys and broadcasts.

	Answers []Answer // of a survey, as they came
	Taken   int      // how many members are said to have answered, or to have it in their queues
	Nodes   int      // of a broadcast: on how many nodes they are said to be
	Missing []Missing
}

// Answer is what one member answered to a survey.
type Answer struct {
	Member string
	At     time.Duration
	Wrong  bool // it belongs to another survey
}

// Missing is a member that a survey or a broadcast names as missing.
type Missing struct {
	Member  string
	Outcome string // why, in the words of Request.Outcome
}

// Many says whether it goes to every member.
func (r *Request) Many() bool { return r.Kind == "survey" || r.Kind == "broadcast" }

// Subscription is one subscription of one life of a node.
type Subscription struct {
	Name    string // of the scenario's entry
	Node    string
	Peer    string
	Network string // of the node; "" = there is only one
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
	Network   string // of the publisher; "" = there is only one
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
	Reason       string // slow, lane, lost, relay, border, publisher and so on
}

// Tunnel is one tunnel, from both its sides.
type Tunnel struct {
	ID       uint64 // unique in the run; the first 8 bytes of what it was opened with
	Work     string
	Caller   string // node
	Cluster  string
	Size     int           // bytes of a message
	Messages int           // that the caller wanted to send
	Sent     time.Duration // OpenTunnel was called
	Opened   time.Duration // it returned a tunnel; -1 = it did not
	Deadline time.Duration // when the caller gives it up
	Ended    time.Duration // the caller had nothing more to do with it; -1 = never
	// Outcome is done if both directions ended in good order; otherwise how
	// the caller's side ended: reset, interrupted, deadline, closed, other; or
	// why it could not be opened, in the words of requests.
	Outcome string
	Detail  string // text of an outcome "other"
	Member  string // to which it was opened
	Lost    bool   // the caller's own node was stopped, killed, lost or paused meanwhile
	Own     bool   // the handler is the program's own: what it sent and received is not recorded

	Served []Serving // handlers that had it; one is right

	Forth, Back Flow // to the member, and back to the caller
}

// Serving is one run of the handler of a tunnel.
type Serving struct {
	Tenure int // index into History.Tenures
	Began  time.Duration
	Ended  time.Duration // -1 = it did not return
	Clean  bool          // it read to the end and closed in good order
	Peer   string        // who it was told has opened it
}

// Carried is what the tunnels of one work delivered in a tenth of a second, in
// bytes of whole messages.
type Carried struct {
	At          time.Duration // when it began
	Work        string
	Forth, Back int64 // to members, and to callers
}

// CarriedEvery is the length of what one Carried sums up.
const CarriedEvery = 100 * time.Millisecond

// Flow is one direction of a tunnel. Message n of a tunnel's direction is known
// by its content.
type Flow struct {
	Tried    int  // messages whose sending was begun
	Sent     int  // messages whose sending succeeded
	Closed   bool // after them the sender ended the direction in good order
	Received int  // messages that the receiver got
	Wrong    int  // how many of them were not the next one that had been sent
	End      bool // the receiver was told of the good end
	// Ahead is by how many bytes the sender was ahead of the receiver at most:
	// handed on and not yet received.
	Ahead int64
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

// Scenario is one experiment: a network, what is done to it, what is asked of
// it, and what must hold. It is what a file contains. The same type is also
// the expanded form (Expand), in which every name is a node's and every action
// is a primitive one.
type Scenario struct {
	Name     string   `yaml:"name" json:"name"`
	About    string   `yaml:"about,omitempty" json:"about,omitempty"`   // one or two sentences for people
	Seed     uint64   `yaml:"seed" json:"seed"`                         // default 1
	Levels   []string `yaml:"levels,omitempty" json:"levels,omitempty"` // where it can run: sim, stack, net; default: all
	Duration Duration `yaml:"duration" json:"duration"`                 // of the safety phase: workload and timeline
	Settle   Duration `yaml:"settle,omitempty" json:"settle,omitempty"` // of the liveness phase after it, default 10 s

	Nodes         []Nodes        `yaml:"nodes" json:"nodes"`
	Clusters      []Cluster      `yaml:"clusters" json:"clusters"`
	Subscriptions []Subscription `yaml:"subscriptions,omitempty" json:"subscriptions,omitempty"`
	Links         []Link         `yaml:"links,omitempty" json:"links,omitempty"` // the first that fits a pair decides
	Workload      []Work         `yaml:"workload,omitempty" json:"workload,omitempty"`
	Timeline      []Action       `yaml:"timeline,omitempty" json:"timeline,omitempty"`
	Generate      *Ranges        `yaml:"generate,omitempty" json:"generate,omitempty"` // draw what is left out from the seed
	Assert        []Assertion    `yaml:"assert,omitempty" json:"assert,omitempty"`
	Sometimes     []Assertion    `yaml:"sometimes,omitempty" json:"sometimes,omitempty"` // that the run reached what it is about
}

// Nodes is a group of nodes, or of clients, called <Name>1, <Name>2 and so on; a
// group of one without Count is called Name itself.
type Nodes struct {
	Name   string   `yaml:"name" json:"name"`
	Count  int      `yaml:"count,omitempty" json:"count,omitempty"`
	Attach string   `yaml:"attach,omitempty" json:"attach,omitempty"` // they are clients: the selector of the nodes that are their relays, in turn
	Zone   string   `yaml:"zone,omitempty" json:"zone,omitempty"`
	Start  Duration `yaml:"start,omitempty" json:"start,omitempty"` // when the first one starts
	Every  Duration `yaml:"every,omitempty" json:"every,omitempty"` // between two of them; default: all at once
	Key    string   `yaml:"key,omitempty" json:"key,omitempty"`     // a label: nodes with different labels hold different network keys
}

// Cluster is a name that some nodes serve.
type Cluster struct {
	Name    string            `yaml:"name" json:"name"`
	Members []string          `yaml:"members" json:"members"` // selectors
	Handler Handler           `yaml:"handler" json:"handler"`
	Limits  Limits            `yaml:"limits,omitempty" json:"limits,omitzero"`
	Keys    map[string]string `yaml:"keys,omitempty" json:"keys,omitempty"` // selector → label of an explicit cluster key
}

// Handler is what a member does with a request, a survey, a push, a broadcast
// or each message of a tunnel.
type Handler struct {
	Kind   string   `yaml:"kind" json:"kind"`                         // echo, slow, failing, or go
	Work   Duration `yaml:"work,omitempty" json:"work,omitempty"`     // slow: how long it sleeps
	Jitter Duration `yaml:"jitter,omitempty" json:"jitter,omitempty"` // slow: and how much more at most
	Every  int      `yaml:"every,omitempty" json:"every,omitempty"`   // failing: one of so many is refused
	Code   uint32   `yaml:"code,omitempty" json:"code,omitempty"`     // failing: with this code, default 500
	Name   string   `yaml:"name,omitempty" json:"name,omitempty"`     // go: the name under which the program registered it
}

// Limits are those of patterns.Limits; zero is their default.
type Limits struct {
	Concurrency  int   `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	QueueLength  int   `yaml:"queue_length,omitempty" json:"queue_length,omitempty"`
	QueueBytes   Bytes `yaml:"queue_bytes,omitempty" json:"queue_bytes,omitempty"`
	MessageBytes Bytes `yaml:"message_bytes,omitempty" json:"message_bytes,omitempty"`
	Capacity     int   `yaml:"capacity,omitempty" json:"capacity,omitempty"`
	Tunnels      int   `yaml:"tunnels,omitempty" json:"tunnels,omitempty"`
}

// Link is the model of the links between two sets of nodes, in both
// directions. The zero value of a field is the default named beside it.
type Link struct {
	Between []string `yaml:"between,omitempty" json:"between,omitempty"` // two selectors
	Latency Duration `yaml:"latency,omitempty" json:"latency,omitempty"` // one way; default 5 ms
	Jitter  Duration `yaml:"jitter,omitempty" json:"jitter,omitempty"`   // on top, uniform; default 0 with a latency, else 1 ms
	Loss    Share    `yaml:"loss,omitempty" json:"loss,omitempty"`       // of packets; default none
	Mbps    int      `yaml:"mbps,omitempty" json:"mbps,omitempty"`       // each direction; default unbounded
	Queue   Bytes    `yaml:"queue,omitempty" json:"queue,omitempty"`     // before the bottleneck; default 256 KiB, with mbps only
}

// Work is a stream of messages from some nodes to a cluster or to topics.
type Work struct {
	Name       string   `yaml:"name,omitempty" json:"name,omitempty"`
	Kind       string   `yaml:"kind" json:"kind"`                             // see WorkKinds; default request
	From       []string `yaml:"from" json:"from"`                             // selectors
	To         string   `yaml:"to" json:"to"`                                 // a cluster; publish: a topic
	Topics     int      `yaml:"topics,omitempty" json:"topics,omitempty"`     // publish: <To>.1 to <To>.<Topics> in turn; default: To itself
	Rate       float64  `yaml:"rate" json:"rate"`                             // per second, all callers together; tunnel: that are opened
	Size       Bytes    `yaml:"size,omitempty" json:"size,omitempty"`         // of a body, default 100
	Messages   int      `yaml:"messages,omitempty" json:"messages,omitempty"` // tunnel: that each carries; default 100
	Every      Duration `yaml:"every,omitempty" json:"every,omitempty"`       // tunnel: between two of them; default: as fast as the credit allows
	Deadline   Duration `yaml:"deadline,omitempty" json:"deadline,omitempty"` // default 5 s; tunnel: of all of it
	Idempotent bool     `yaml:"idempotent,omitempty" json:"idempotent,omitempty"`
	Start      Duration `yaml:"start,omitempty" json:"start,omitempty"` // default 0
	Stop       Duration `yaml:"stop,omitempty" json:"stop,omitempty"`   // default: the scenario's duration
}

// Action is one entry of the timeline. Which fields it needs depends on Do;
// actions.go has the table.
type Action struct {
	At      Duration   `yaml:"at" json:"at"`
	Do      string     `yaml:"do" json:"do"`
	Nodes   []string   `yaml:"nodes,omitempty" json:"nodes,omitempty"`     // selectors; expanded: one node
	Between [][]string `yaml:"between,omitempty" json:"between,omitempty"` // two lists of selectors; one-way: from the first to the second
	For     Duration   `yaml:"for,omitempty" json:"for,omitempty"`         // after which it is undone; default: until the end or a matching action
	Every   Duration   `yaml:"every,omitempty" json:"every,omitempty"`     // between nodes or links of a compound action
	Down    Duration   `yaml:"down,omitempty" json:"down,omitempty"`       // how long each node is away
	Factor  int        `yaml:"factor,omitempty" json:"factor,omitempty"`   // slow: handlers take so many times as long
	Offset  Duration   `yaml:"offset,omitempty" json:"offset,omitempty"`   // skew: wall clock, may be negative
	Drift   int        `yaml:"drift,omitempty" json:"drift,omitempty"`     // skew: parts per million, may be negative
	Share   Share      `yaml:"share,omitempty" json:"share,omitempty"`     // churn: of the nodes per minute
	Mode    string     `yaml:"mode,omitempty" json:"mode,omitempty"`       // router: slow, stale or wrong
	Link    *Link      `yaml:"link,omitempty" json:"link,omitempty"`       // degrade: the model meanwhile
	Work    *Work      `yaml:"work,omitempty" json:"work,omitempty"`       // flood: what is sent meanwhile
}

// Assertion is a claim about a run's metrics: "lost == 0", "reroute_p99 <
// 100ms". Package check has the metrics.
type Assertion string

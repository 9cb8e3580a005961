// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

// Scenario is one experiment: a network, what is done to it, what is asked of
// it, and what must hold. It is what a file contains. The same type is also
// the expanded form (Expand), in which every name is a node's and every action
// is a primitive one.
type Scenario struct {
	Name     string   `yaml:"name" json:"name"`
	About    string   `yaml:"about" json:"about,omitempty"`   // one or two sentences for people
	Seed     uint64   `yaml:"seed" json:"seed"`               // default 1
	Levels   []string `yaml:"levels" json:"levels,omitempty"` // where it can run: sim, stack, net; default: all
	Duration Duration `yaml:"duration" json:"duration"`       // of the safety phase: workload and timeline
	Settle   Duration `yaml:"settle" json:"settle,omitempty"` // of the liveness phase after it, default 10 s

	Nodes     []Nodes     `yaml:"nodes" json:"nodes"`
	Clusters  []Cluster   `yaml:"clusters" json:"clusters"`
	Links     []Link      `yaml:"links" json:"links,omitempty"` // the first that fits a pair decides
	Workload  []Work      `yaml:"workload" json:"workload,omitempty"`
	Timeline  []Action    `yaml:"timeline" json:"timeline,omitempty"`
	Assert    []Assertion `yaml:"assert" json:"assert,omitempty"`
	Sometimes []Assertion `yaml:"sometimes" json:"sometimes,omitempty"` // that the run reached what it is about
}

// Nodes is a group of nodes called <Name>1, <Name>2 and so on; a group of one
// without Count is called Name itself.
type Nodes struct {
	Name  string   `yaml:"name" json:"name"`
	Count int      `yaml:"count" json:"count,omitempty"`
	Zone  string   `yaml:"zone" json:"zone,omitempty"`
	Start Duration `yaml:"start" json:"start,omitempty"` // when the first one starts
	Every Duration `yaml:"every" json:"every,omitempty"` // between two of them; default: all at once
	Key   string   `yaml:"key" json:"key,omitempty"`     // a label: nodes with different labels hold different network keys
}

// Cluster is a name that some nodes serve.
type Cluster struct {
	Name    string            `yaml:"name" json:"name"`
	Members []string          `yaml:"members" json:"members"` // selectors
	Handler Handler           `yaml:"handler" json:"handler"`
	Limits  Limits            `yaml:"limits" json:"limits,omitzero"`
	Keys    map[string]string `yaml:"keys" json:"keys,omitempty"` // selector → label of an explicit cluster key
}

// Handler is what a member does with a request.
type Handler struct {
	Kind   string   `yaml:"kind" json:"kind"`               // echo, slow, failing, or go
	Work   Duration `yaml:"work" json:"work,omitempty"`     // slow: how long it sleeps
	Jitter Duration `yaml:"jitter" json:"jitter,omitempty"` // slow: and how much more at most
	Every  int      `yaml:"every" json:"every,omitempty"`   // failing: one of so many is refused
	Code   uint32   `yaml:"code" json:"code,omitempty"`     // failing: with this code, default 500
	Name   string   `yaml:"name" json:"name,omitempty"`     // go: the name under which the program registered it
}

// Limits are those of patterns.Limits; zero is their default.
type Limits struct {
	Concurrency  int   `yaml:"concurrency" json:"concurrency,omitempty"`
	QueueLength  int   `yaml:"queue_length" json:"queue_length,omitempty"`
	QueueBytes   Bytes `yaml:"queue_bytes" json:"queue_bytes,omitempty"`
	MessageBytes Bytes `yaml:"message_bytes" json:"message_bytes,omitempty"`
	Capacity     int   `yaml:"capacity" json:"capacity,omitempty"`
}

// Link is the model of the links between two sets of nodes, in both
// directions. The zero value of a field is the default named beside it.
type Link struct {
	Between []string `yaml:"between" json:"between"`           // two selectors
	Latency Duration `yaml:"latency" json:"latency,omitempty"` // one way; default 5 ms
	Jitter  Duration `yaml:"jitter" json:"jitter,omitempty"`   // on top, uniform; default 0 with a latency, else 1 ms
	Loss    Share    `yaml:"loss" json:"loss,omitempty"`       // of packets; default none
	Mbps    int      `yaml:"mbps" json:"mbps,omitempty"`       // each direction; default unbounded
	Queue   Bytes    `yaml:"queue" json:"queue,omitempty"`     // before the bottleneck; default 256 KiB, with mbps only
}

// Work is a stream of messages from some nodes to a cluster.
type Work struct {
	Name       string   `yaml:"name" json:"name,omitempty"`
	Kind       string   `yaml:"kind" json:"kind"`                   // request
	From       []string `yaml:"from" json:"from"`                   // selectors
	To         string   `yaml:"to" json:"to"`                       // a cluster
	Rate       float64  `yaml:"rate" json:"rate"`                   // per second, all callers together
	Size       Bytes    `yaml:"size" json:"size,omitempty"`         // of a body, default 100
	Deadline   Duration `yaml:"deadline" json:"deadline,omitempty"` // default 5 s
	Idempotent bool     `yaml:"idempotent" json:"idempotent,omitempty"`
	Start      Duration `yaml:"start" json:"start,omitempty"` // default 0
	Stop       Duration `yaml:"stop" json:"stop,omitempty"`   // default: the scenario's duration
}

// Action is one entry of the timeline. Which fields it needs depends on Do;
// actions.go has the table.
type Action struct {
	At      Duration   `yaml:"at" json:"at"`
	Do      string     `yaml:"do" json:"do"`
	Nodes   []string   `yaml:"nodes" json:"nodes,omitempty"`     // selectors; expanded: one node
	Between [][]string `yaml:"between" json:"between,omitempty"` // two lists of selectors; one-way: from the first to the second
	For     Duration   `yaml:"for" json:"for,omitempty"`         // after which it is undone; default: until the end or a matching action
	Every   Duration   `yaml:"every" json:"every,omitempty"`     // between nodes or links of a compound action
	Down    Duration   `yaml:"down" json:"down,omitempty"`       // how long each node is away
	Factor  int        `yaml:"factor" json:"factor,omitempty"`   // slow: handlers take so many times as long
	Offset  Duration   `yaml:"offset" json:"offset,omitempty"`   // skew: wall clock, may be negative
	Drift   int        `yaml:"drift" json:"drift,omitempty"`     // skew: parts per million, may be negative
	Share   Share      `yaml:"share" json:"share,omitempty"`     // churn: of the nodes per minute
	Mode    string     `yaml:"mode" json:"mode,omitempty"`       // router: slow, stale or wrong
	Link    *Link      `yaml:"link" json:"link,omitempty"`       // degrade: the model meanwhile
	Work    *Work      `yaml:"work" json:"work,omitempty"`       // flood: what is sent meanwhile
}

// Assertion is a claim about a run's metrics: "lost == 0", "reroute_p99 <
// 100ms". Package check has the metrics.
type Assertion string

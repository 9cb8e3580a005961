// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

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

	Networks      []string       `yaml:"networks,omitempty" json:"networks,omitempty"` // names; default: there is one, which has none
	Nodes         []Nodes        `yaml:"nodes" json:"nodes"`
	Gateways      []Gateway      `yaml:"gateways,omitempty" json:"gateways,omitempty"` // between networks
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
	Name    string   `yaml:"name" json:"name"`
	Count   int      `yaml:"count,omitempty" json:"count,omitempty"`
	Attach  string   `yaml:"attach,omitempty" json:"attach,omitempty"`   // they are clients: the selector of the nodes that are their relays, in turn
	Network string   `yaml:"network,omitempty" json:"network,omitempty"` // that they are in, of those that the scenario lists
	Zone    string   `yaml:"zone,omitempty" json:"zone,omitempty"`
	Start   Duration `yaml:"start,omitempty" json:"start,omitempty"`   // when the first one starts
	Every   Duration `yaml:"every,omitempty" json:"every,omitempty"`   // between two of them; default: all at once
	Near    string   `yaml:"near,omitempty" json:"near,omitempty"`     // a cluster: their ids are chosen so that they anchor it, as far as the keys they hold tell where it is
	Seeds   []string `yaml:"seeds,omitempty" json:"seeds,omitempty"`   // selectors of the nodes that they dial to join; default: the first node of their network
	Prefix  string   `yaml:"prefix,omitempty" json:"prefix,omitempty"` // the first two numbers of their addresses, "81.2"; default: private ones
	Key     string   `yaml:"key,omitempty" json:"key,omitempty"`       // a label: nodes with different labels hold different network keys
	Policy  string   `yaml:"policy,omitempty" json:"policy,omitempty"` // what their clients may do: the text of a relay's policy; default: everything
	Token   string   `yaml:"token,omitempty" json:"token,omitempty"`   // of clients: the name of the token that they prove to have; default: none
	// Certificate of the nodes, in a network that requires them: see Certificates. Where
	// one group has one all need one.
	Certificate string   `yaml:"certificate,omitempty" json:"certificate,omitempty"`
	Ends        Duration `yaml:"ends,omitempty" json:"ends,omitempty"` // when others refuse the certificate, with what clocks may be off; default: never
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
// directions unless OneWay says otherwise. The zero value of a field is the default named beside it.
type Link struct {
	Between []string `yaml:"between,omitempty" json:"between,omitempty"` // two selectors
	OneWay  bool     `yaml:"one_way,omitempty" json:"one_way,omitempty"` // from the first selector's nodes to the second's only
	Latency Duration `yaml:"latency,omitempty" json:"latency,omitempty"` // one way; default 5 ms
	Jitter  Duration `yaml:"jitter,omitempty" json:"jitter,omitempty"`   // on top, uniform; default 0 with a latency, else 1 ms
	Loss    Share    `yaml:"loss,omitempty" json:"loss,omitempty"`       // of packets; default none
	Mbps    int      `yaml:"mbps,omitempty" json:"mbps,omitempty"`       // each direction; default unbounded
	Kbps    int      `yaml:"kbps,omitempty" json:"kbps,omitempty"`       // the same in 10³ bits, for less than 1 Mbit/s
	Queue   Bytes    `yaml:"queue,omitempty" json:"queue,omitempty"`     // before the bottleneck; default 256 KiB, with mbps or kbps only
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
	Retries    int      `yaml:"retries,omitempty" json:"retries,omitempty"` // how often the program itself asks again, at once, what ended as overloaded or deadline
	Start      Duration `yaml:"start,omitempty" json:"start,omitempty"`     // default 0
	Stop       Duration `yaml:"stop,omitempty" json:"stop,omitempty"`       // default: the scenario's duration
}

// Action is one entry of the timeline. Which fields it needs depends on Do;
// Actions has the table.
type Action struct {
	At       Duration   `yaml:"at" json:"at"`
	Do       string     `yaml:"do" json:"do"`
	Nodes    []string   `yaml:"nodes,omitempty" json:"nodes,omitempty"`       // selectors; expanded: one node, and those of a rotate
	Between  [][]string `yaml:"between,omitempty" json:"between,omitempty"`   // two lists of selectors; one-way: from the first to the second
	For      Duration   `yaml:"for,omitempty" json:"for,omitempty"`           // after which it is undone; default: until the end or a matching action
	Every    Duration   `yaml:"every,omitempty" json:"every,omitempty"`       // between nodes or links of a compound action; between repetitions, with times
	Times    int        `yaml:"times,omitempty" json:"times,omitempty"`       // how often it happens, every so long; expanded: never set
	Identity string     `yaml:"identity,omitempty" json:"identity,omitempty"` // "new": who comes back has another key, and no memory
	Down     Duration   `yaml:"down,omitempty" json:"down,omitempty"`         // how long each node is away
	Factor   int        `yaml:"factor,omitempty" json:"factor,omitempty"`     // slow: handlers take so many times as long
	Offset   Duration   `yaml:"offset,omitempty" json:"offset,omitempty"`     // skew: wall clock, may be negative
	Drift    int        `yaml:"drift,omitempty" json:"drift,omitempty"`       // skew: parts per million, may be negative
	Share    Share      `yaml:"share,omitempty" json:"share,omitempty"`       // churn: of the nodes per minute
	Mode     string     `yaml:"mode,omitempty" json:"mode,omitempty"`         // router: slow, stale or wrong
	On       string     `yaml:"on,omitempty" json:"on,omitempty"`             // attack: the cluster, or the first word of topics; rotate: the cluster
	Link     *Link      `yaml:"link,omitempty" json:"link,omitempty"`         // degrade: the model meanwhile
	Work     *Work      `yaml:"work,omitempty" json:"work,omitempty"`         // flood: what is sent meanwhile
}

// Assertion is a claim about a run's metrics: "lost == 0", "reroute_p99 <
// 100ms". Package check has the metrics.
type Assertion string

// ActionInfo describes one word that `do:` may have.
type ActionInfo struct {
	Name  string
	About string   // a sentence
	Needs []string // fields it must have; "a or b" = exactly one of the two
	Takes []string // fields it may have; "a or b" = at most one of the two
}

// Actions returns every action, in the order of the documentation.
func Actions() []ActionInfo {
	nodes, between := []string{"nodes"}, []string{"between"}
	return []ActionInfo{
		{"start", "Starts nodes that have not run yet; their group's start no longer counts.", nodes, nil},
		{"restart", "Starts nodes that were stopped, crashed or silenced, each with a new incarnation; with identity: new as another peer at the same address, as after the loss of its data.", nodes, []string{"identity"}},
		{"stop", "Shuts nodes down gracefully: they leave, finish what they accepted, and go.", nodes, []string{"for or down", "identity"}},
		{"crash", "Kills the processes: peers see their connections reset at once.", nodes, []string{"for or down", "identity"}},
		{"silence", "Cuts the power: peers see nothing at all. The clients on the machine of a relay are lost with it.", nodes, []string{"for or down", "identity"}},
		{"pause", "Stops the nodes while their clocks run, as a stalled machine does; of a relay and its clients only those that are named.", nodes, []string{"for"}},
		{"resume", "Lets paused nodes go on.", nodes, nil},
		{"slow", "Makes the handlers of the nodes take factor times as long; 1 is normal.", []string{"nodes", "factor"}, []string{"for"}},
		{"cut", "Nothing passes from the first nodes to the second; what was under way arrives.", between, []string{"for"}},
		{"mend", "Ends a cut from the first nodes to the second.", between, nil},
		{"clog", "Nothing passes from the first nodes to the second meanwhile, and nothing is lost: it waits.", between, []string{"for"}},
		{"unclog", "Ends a clog from the first nodes to the second.", between, nil},
		{"move", "Gives running nodes another address, as a new DHCP lease or another network does: their connections are dead at once, their peers notice by silence. Names that lead to them lead to the new address. Level sim only.", nodes, nil},
		{"degrade", "Replaces the model of the links between the nodes, both ways; undone, they are as the file has them.", []string{"between", "link"}, []string{"for"}},
		{"skew", "Sets the clocks of the nodes off by offset and lets them drift; with neither they are right again.", nodes, []string{"offset", "drift", "for"}},
		{"corrupt", "Flips a bit in the next frame from one of the first nodes to one of the second; with every, another pair each time.", between, []string{"every", "for"}},
		{"break", "Resets the connections between the first nodes and the second, once or every so long; between a client and its relay it is the local socket. Both ends may connect again at once. Level sim only.", between, []string{"every", "for"}},
		{"router", "Makes what nodes are told about who is near slow, stale or wrong (mode); without a mode it is right again.", nodes, []string{"mode", "for"}},
		{"attack", "Turns the nodes into adversaries, which do harm in the way of mode; without a mode they stop. They go on in the liveness phase. Level sim only.", nodes, []string{"mode", "on", "for"}},
		{"rotate", "Makes a new key of the network, or of a cluster (on), and has the nodes read the file with it one after the other, every so long; who is away reads it when it comes back. The old keys are valid for so long (for), then the nodes read a file without them; default: there is none of them in the first. Level sim only.", nodes, []string{"on", "every", "for"}},
		{"ban", "Puts the nodes on the list of bans in the network's file, which the first other node reads; all others hear of it. Who is banned, or left out when the network's key is rotated, goes on with what it has: nothing is promised to it, and nobody may answer it, ask it, or list it. Level sim only.", nodes, nil},
		{"revoke", "Has the authority put the nodes on its list of revocations, which the first other node reads; all others hear of it, within a time (for; default 5s). Who is revoked goes on with what it has: nothing is promised to it, and after that time nobody may answer it, ask it, or list it. Level sim only.", nodes, []string{"for"}},
		{"flood", "Sends a second workload for a while.", []string{"work"}, []string{"for"}},
		{"heal", "Ends every cut, clog, degradation, pause, skew and router fault.", nil, nil},
		{"partition", "Cuts both ways between the first nodes and the second, or between the nodes and all others.", []string{"between or nodes"}, []string{"for"}},
		{"partition-oneway", "Cuts from the first nodes to the second; the other way stays open.", between, []string{"for"}},
		{"swizzle", "Cuts the links between the nodes one by one in random order, every so long, and mends them in another random order after a while (for).", between, []string{"every", "for"}},
		{"churn", "A share of the nodes per minute leaves, half of them with a crash, and comes back; at random times.", []string{"nodes", "share", "for"}, []string{"down"}},
		{"rolling-restart", "Shuts the nodes down and starts them again, one after the other.", nodes, []string{"every", "down"}},
		{"mass-restart", "Crashes all the nodes at once and starts them all at once.", nodes, []string{"down"}},
	}
}

// actionNames are the names of Actions.
func actionNames() []string {
	all := Actions()
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names
}

// actionInfo looks an action up.
func actionInfo(name string) (ActionInfo, bool) {
	all := Actions()
	i := slices.IndexFunc(all, func(a ActionInfo) bool { return a.Name == name })
	if i < 0 {
		return ActionInfo{}, false
	}
	return all[i], true
}

// given lists the fields of an action that a file has set, besides at and do,
// in the order of the type.
func (a Action) given() []string {
	var fields []string
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		name, f := tagOf(v.Type().Field(i)), v.Field(i)
		empty := f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0
		if !empty && name != "at" && name != "do" {
			fields = append(fields, name)
		}
	}
	return fields
}

// What a file leaves out.
const (
	DefaultSeed     = 1
	DefaultSettle   = Duration(10 * time.Second)
	DefaultLatency  = Duration(5 * time.Millisecond)
	DefaultJitter   = Duration(time.Millisecond) // of links without a latency of their own
	DefaultQueue    = Bytes(256 << 10)
	DefaultSize     = Bytes(100)
	DefaultDeadline = Duration(5 * time.Second)
	DefaultMessages = 100 // of a tunnel
	DefaultCode     = 500
	DefaultDown     = Duration(time.Second)            // of restarts and churn
	DefaultEvery    = Duration(2 * time.Second)        // between the nodes of a rolling restart
	DefaultSwizzle  = Duration(100 * time.Millisecond) // between the links of a swizzle
)

// Levels are where scenarios run, the default one first.
func Levels() []string { return []string{"sim", "stack", "net"} }

// filledIn returns a copy in which everything that a file may leave out is
// explicit. It shares no slice that it changes with s.
func filledIn(s Scenario) Scenario {
	s.Seed, s.Settle = cmp.Or(s.Seed, DefaultSeed), cmp.Or(s.Settle, DefaultSettle)
	if len(s.Levels) == 0 {
		s.Levels = Levels()
		if simOnly(s) || len(s.Networks) > 0 {
			s.Levels = s.Levels[:1]
		}
	}
	s.Links = slices.Clone(s.Links)
	if !slices.ContainsFunc(s.Links, Link.everywhere) {
		s.Links = append(s.Links, Link{Between: []string{"*", "*"}})
	}
	for i, l := range s.Links {
		s.Links[i] = l.withDefaults()
	}
	s.Clusters = slices.Clone(s.Clusters)
	for i, c := range s.Clusters {
		s.Clusters[i].Handler = c.Handler.withDefaults()
	}
	s.Subscriptions = slices.Clone(s.Subscriptions)
	for i, sub := range s.Subscriptions {
		s.Subscriptions[i] = sub.withDefaults(i)
	}
	s.Workload = slices.Clone(s.Workload)
	for i, w := range s.Workload {
		s.Workload[i] = w.withDefaults(w.called(i), s.Duration)
	}
	return s
}

func (l Link) everywhere() bool {
	return len(l.Between) == 2 && !l.OneWay && l.Between[0] == "*" && l.Between[1] == "*"
}

// Model is the link as the levels play it.
func (l Link) Model() link.Model {
	return link.Model{Latency: l.Latency.D(), Jitter: l.Jitter.D(), Loss: uint32(l.Loss), Mbps: l.Mbps, Kbps: l.Kbps, Queue: int(l.Queue)}
}

func (l Link) withDefaults() Link {
	if l.Latency == 0 {
		l.Latency, l.Jitter = DefaultLatency, cmp.Or(l.Jitter, DefaultJitter)
	}
	if l.Model().Bounded() && l.Queue == 0 {
		l.Queue = DefaultQueue
	}
	return l
}

func (h Handler) withDefaults() Handler {
	switch h.Kind {
	case "":
		h.Kind = "echo"
	case "failing":
		h.Every, h.Code = cmp.Or(h.Every, 1), cmp.Or(h.Code, DefaultCode)
	}
	return h
}

// called is the name of a workload that has none of its own.
func (w Work) called(i int) string {
	return defaultName(cmp.Or(w.Kind, WorkKinds()[0]), i)
}

func (w Work) withDefaults(name string, stop Duration) Work {
	w.Name = cmp.Or(w.Name, name)
	w.Kind = cmp.Or(w.Kind, WorkKinds()[0])
	if w.Kind == "tunnel" {
		w.Messages = cmp.Or(w.Messages, DefaultMessages)
	}
	w.Size = cmp.Or(w.Size, DefaultSize)
	w.Deadline = cmp.Or(w.Deadline, DefaultDeadline)
	w.Stop = cmp.Or(w.Stop, stop)
	return w
}

// defaultName names the first thing of a kind after the kind, the others with
// a number behind it.
func defaultName(kind string, i int) string {
	if i == 0 {
		return kind
	}
	return kind + strconv.Itoa(i+1)
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/node"
)

// Status is what a gateway says about itself, for people and tools.
type Status struct {
	Networks  []NetworkStatus  `json:"networks"`  // in the order of the configuration
	Crossings []CrossingStatus `json:"crossings"` // by from, to and name; of patterns, what is lent now
	Patterns  []PatternStatus  `json:"patterns,omitempty"`
	Topics    []TopicStatus    `json:"topics"` // by from, to and topic
}

// NetworkStatus is the gateway's node in one network.
type NetworkStatus struct {
	Name string      `json:"name"` // what the other networks call it
	Node node.Status `json:"node"`
	// CutOff says that none of the network's own nodes is heard any more: what it lends is
	// refused as unreachable until one is.
	CutOff bool `json:"cut_off,omitempty"`
}

// CrossingStatus is one crossing that is in force.
type CrossingStatus struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Cluster  string `json:"cluster"`
	As       string `json:"as"`
	Priority int    `json:"priority"`
	Lent     bool   `json:"lent"`            // it has a member in To now
	Members  int    `json:"members"`         // that it has in From, of that network itself
	Usable   int    `json:"usable"`          // of these, those that can be reached
	Error    string `json:"error,omitempty"` // why it could not be lent
	// Transit are the other networks whose members are lent on.
	Transit []TransitStatus `json:"transit,omitempty"`
	// Sealed says that members' own records, and what is sent to them, are passed on
	// unopened; Passed is how many members there are of that network's now.
	Sealed bool `json:"sealed,omitempty"`
	Passed int  `json:"passed,omitempty"`

	Messages  uint64            `json:"messages"` // that have crossed, since the start
	Bytes     uint64            `json:"bytes"`    // of bodies and headers, in both directions
	InFlight  int               `json:"in_flight"`
	Tunnels   int               `json:"tunnels"`
	Refused   map[string]uint64 `json:"refused"` // reason to count
	RoundTrip time.Duration     `json:"trip_ns"` // there and back, without the handler's time; 0 = not measured
}

// refusedClusters is why a cluster of a pattern is not lent: there are as many as there
// may be, or as the peer who asks can cause.
const refusedClusters = "clusters_limit"

// PatternStatus is one pattern that is in force.
type PatternStatus struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Cluster  string `json:"cluster"`
	As       string `json:"as"`
	Clusters int    `json:"clusters"` // that somebody has asked for
	// Refused are questions for one more cluster, by reason.
	Refused map[string]uint64 `json:"refused,omitempty"`
}

// TransitStatus is what a crossing lends on of another network's members.
type TransitStatus struct {
	Network string `json:"network"` // that they are from
	Borders int    `json:"borders"` // that a message crosses to them, with this one
	Lent    bool   `json:"lent"`
	Error   string `json:"error,omitempty"` // why it could not be lent
}

// Ready says why networks should not rely on the gateway yet: one of its nodes has not
// joined, something that could be lent was not yet since it is in the configuration, or
// could not be when it was tried last. nil means that they can. What a pattern stands for
// is lent when somebody asks, and topics when somebody listens: none of it makes a gateway
// unready, unless it fails.
func (g *Gateway) Ready() error {
	for _, n := range g.cfg.Networks {
		if err := g.networks[n.Name].Ready(); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
	}
	for _, l := range g.sorted() {
		if why := l.status().unready(l.asked, l.settled.Load()); why != "" {
			return errors.New(why)
		}
	}
	for _, l := range g.topics.sorted() {
		if t := l.status(); t.Listened && !t.Lent && t.Error != "" {
			return fmt.Errorf("topic %s of %s is not lent to %s: %s", t.Topic, t.From, t.To, t.Error)
		}
	}
	return nil
}

// unready says why the gateway can't be relied on for the crossing; "" = it can. asked
// says that somebody's question began it, settled that it was lent before.
func (c CrossingStatus) unready(asked, settled bool) string {
	switch {
	case c.Usable == 0 || c.Lent:
		return ""
	case c.Error != "":
		return fmt.Sprintf("%s of %s is not lent to %s: %s", c.Cluster, c.From, c.To, c.Error)
	case asked || settled:
		return ""
	}
	return fmt.Sprintf("%s of %s is not lent to %s yet", c.Cluster, c.From, c.To)
}

// Status describes the gateway. The caller owns the result.
func (g *Gateway) Status() Status {
	var s Status
	for _, n := range g.cfg.Networks {
		s.Networks = append(s.Networks, NetworkStatus{n.Name, g.networks[n.Name].Status(), g.reaches[n.Name].cut.Load()})
	}
	s.Crossings = []CrossingStatus{}
	for _, l := range g.sorted() {
		s.Crossings = append(s.Crossings, l.status())
	}
	s.Topics = []TopicStatus{}
	for _, l := range g.topics.sorted() {
		s.Topics = append(s.Topics, l.status())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.byLength() {
		x := PatternStatus{From: p.what.From, To: p.what.To, Cluster: p.what.Cluster, As: p.what.As, Clusters: len(p.lends)}
		if p.refused > 0 {
			x.Refused = map[string]uint64{refusedClusters: p.refused}
		}
		s.Patterns = append(s.Patterns, x)
	}
	return s
}

func (l *lend) status() CrossingStatus {
	s := CrossingStatus{
		From: l.what.From, To: l.what.To, Cluster: l.what.Cluster, As: l.what.As, Priority: l.what.Priority,
		Messages: l.border.messages.Load(), Bytes: l.border.bytes.Load(), Refused: l.border.refused.ByName(),
	}
	l.border.mu.Lock()
	s.InFlight = l.border.inFlight
	l.border.mu.Unlock()
	s.Tunnels = l.tunnels.open()
	s.Bytes += l.tunnels.carried()
	if l.sealed != nil {
		l.sealed.describe(&s)
	}
	l.mu.Lock()
	s.RoundTrip = l.trip
	l.mu.Unlock()
	for _, x := range l.sorted() {
		lent, shown, fault := x.state()
		if x.native() {
			s.Lent, s.Members, s.Usable, s.Error = lent, shown.members, shown.usable, fault
		} else {
			s.Transit = append(s.Transit, TransitStatus{Network: x.name, Borders: len(shown.networks), Lent: lent, Error: fault})
		}
	}
	return s
}

// state says whether it is lent, what was seen last, and why it could not be lent, if so.
func (l *loan) state() (lent bool, shown seen, fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		fault = l.fault.Error()
	}
	return l.reg != nil, l.shown, fault
}

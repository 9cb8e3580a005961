// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns/broadcast"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/survey"
	"github.com/arke-mesh/arke/patterns/tunnel"
)

// Status is what a node says about itself, for people and tools. No field is
// secret.
type Status struct {
	Peer      string   `json:"peer"`
	Addrs     []string `json:"addrs"` // without /p2p
	Network   string   `json:"network"`
	NetworkID string   `json:"network_id"`
	Name      string   `json:"name,omitempty"`
	Zone      string   `json:"zone,omitempty"`

	// Certificate is what this node shows others, in an issued network.
	Certificate issued.Status `json:"certificate"`

	Incarnation uint64 `json:"incarnation"`
	State       string `json:"state"` // new, running, draining, or closed

	// Peers is how many nodes this one knows of. Links to them open when there
	// is something to say, so a quiet network has few.
	Peers int `json:"peers"`

	// Seeds are those of the configuration.
	Seeds []overlay.SeedStatus `json:"seeds"`

	// Sieve says whether the kernel keeps connections to itself that do not greet; nil =
	// the node listens nowhere.
	Sieve *p2p.Sieve `json:"sieve,omitempty"`

	// Data is the data directory, nil if there is none.
	Data *DataStatus `json:"data,omitempty"`

	// TurnedAway says that the node knows nobody, and who did not let it in lately. "" = not so.
	TurnedAway string `json:"turned_away,omitempty"`

	// Doubt says why the node can't tell whether nobody serves a cluster, other than by its
	// clock. "" = it can.
	Doubt string `json:"doubt,omitempty"`

	// Clock compares this node's wall clock with those of the peers it has links to.
	Clock overlay.ClockStatus `json:"clock"`

	Links    []overlay.LinkStatus    `json:"links"`    // by peer id
	Clusters []cluster.ServedStatus  `json:"clusters"` // served here, by name
	Watches  []cluster.WatchedStatus `json:"watches"`  // called from here, by name
	Anchors  AnchorStatus            `json:"anchors"`
	Queues   []request.MemberStatus  `json:"queues"` // by cluster, then member
	Requests request.CallStatus      `json:"requests"`

	// What was sent from here, since the start. Requests counts the copies of
	// these, too.
	Surveys    survey.Status    `json:"surveys"`
	Pushes     push.Status      `json:"pushes"`
	Broadcasts broadcast.Status `json:"broadcasts"`

	Topics  pubsub.Status `json:"topics"`
	Tunnels tunnel.Status `json:"tunnels"`

	// What all links together carried, in frames and bytes of them: encryption and
	// TCP not counted, nor what the node sends to itself.
	SentFrames    uint64         `json:"sent_frames"`    // since the start
	SentBytes     overlay.ByLane `json:"sent_bytes"`     // since the start
	ReceivedBytes uint64         `json:"received_bytes"` // since the start
	QueuedBytes   overlay.ByLane `json:"queued_bytes"`   // waiting now

	Drops map[string]uint64 `json:"drops"` // "layer.reason" to count, since the start
}

// AnchorStatus is what this node holds for others.
type AnchorStatus struct {
	Clusters int `json:"clusters"` // by their ids, of which a cluster may have several
	Leases   int `json:"leases"`
	Watches  int `json:"watches"`
}

// DataStatus is how the data directory is.
type DataStatus struct {
	Dir   string `json:"dir"`
	Error string `json:"error,omitempty"` // why it can't be written
}

// Status describes the node. It may be called at any time; the caller owns the
// result.
func (n *Node) Status() Status {
	c, t, search := n.clusters.Status(), n.overlay.Traffic(), n.overlay.Search()
	for i, s := range c.Served {
		c.Served[i].Internal = strings.HasPrefix(s.Cluster, topicPrefix)
	}
	for i, w := range c.Watched {
		c.Watched[i].Internal = strings.HasPrefix(w.Cluster, topicPrefix)
	}
	return Status{
		Peer:        n.Self().String(),
		Addrs:       present(n.Addrs()),
		Network:     n.cfg.Network.Name,
		NetworkID:   n.cfg.Network.ID.String(),
		Name:        n.cfg.Name,
		Zone:        n.cfg.Zone,
		Certificate: n.credentials.status(),
		Incarnation: n.incarnation,
		State:       phaseName(n.phase.Load()),
		Peers:       n.overlay.Router().Size(),
		Seeds:       present(search.Seeds),
		Sieve:       n.sieve(),
		Data:        n.data(search.Unwritten),
		TurnedAway:  words(overlay.TurnedAway(n.overlay)),
		Doubt:       n.apart(),
		Clock:       n.overlay.Clocks(),
		Links:       present(n.overlay.Links()),
		Clusters:    present(c.Served),
		Watches:     present(c.Watched),
		Anchors:     AnchorStatus{c.Anchored, c.Leases, c.Watches},
		Queues:      n.requests.Status(),
		Requests:    n.requests.Calls(),
		Surveys:     n.surveys.Status(),
		Pushes:      n.pushes.Status(),
		Broadcasts:  n.broadcasts.Status(),

		Topics:  n.topics.Status(),
		Tunnels: n.tunnels.Status(),

		SentFrames:    t.Frames,
		SentBytes:     t.Sent,
		ReceivedBytes: t.Received,
		QueuedBytes:   t.Queued,

		Drops: n.drops(c.Drops),
	}
}

// apart says why the node knows nobody though there are others, "" if that is not so.
func (n *layers) apart() string {
	reason, _ := overlay.Apart(n.overlay)
	return words(reason)
}

// words is what err says; "" = nothing.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (n *layers) sieve() *p2p.Sieve {
	if n.outside.host == nil {
		return nil
	}
	return n.outside.host.Sieve()
}

// data tells how the data directory is.
func (n *layers) data(unwritten error) *DataStatus {
	if n.cfg.DataDir == "" {
		return nil
	}
	s := &DataStatus{Dir: n.cfg.DataDir}
	if unwritten != nil {
		s.Error = unwritten.Error()
	}
	return s
}

// drops puts the layers' counters into one map.
func (n *layers) drops(clusters map[string]uint64) map[string]uint64 {
	all := make(map[string]uint64)
	layers := map[string]map[string]uint64{
		"overlay": n.overlay.Drops(), "cluster": clusters, "request": n.requests.Drops(),
		"pubsub": n.topics.Drops(), "tunnel": n.tunnels.Drops(), "federation": {noAnswer: n.silence.count.Load()},
	}
	if n.outside.host != nil {
		layers["p2p"] = n.outside.host.Counters()
	}
	for layer, counts := range layers {
		for reason, count := range counts {
			if count > 0 {
				all[layer+"."+reason] = count
			}
		}
	}
	return all
}

// present turns nil into an empty list, which is what JSON should say.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func phaseName(p uint32) string {
	return [...]string{"new", "running", "draining", "closed"}[p]
}

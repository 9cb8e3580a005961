// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"

	clusterlayer "github.com/arke-mesh/arke/cluster"
)

// MaxClusters is how many values the label "cluster" has for one metric.
const MaxClusters = request.MaxLedgers

// Source is what is scraped: *node.Node.
type Source interface {
	Status() node.Status
	Ledgers() []*request.Ledger
	Ready() error
}

var _ Source = (*node.Node)(nil)

// Node collects what a node counts. It may be used concurrently.
type Node struct {
	source Source
	limits *limits
	numbers
	byCluster
	traffic
	dropped  Family
	reasons  []reason
	outcomes [patterns.OutcomeCount]*dto.LabelPair
}

// reason is one that is always shown, even while it has not occurred: a counter
// that appears with its first event hides it from rate().
type reason struct {
	layer, name string
	key         string // in the status
	labels      []*dto.LabelPair
}

// byCluster are the families with that label.
type byCluster struct {
	requests, took, members, running, waiting, waitingBytes, handled, called, beyond Family
}

// traffic are the families of links.
type traffic struct {
	info, ready, seeds, links, rtt, sent, queued Family
}

var _ prometheus.Collector = (*Node)(nil)

// NewNode returns a collector of the source.
func NewNode(s Source) *Node {
	dropped := Counter("arke_dropped_total", "layer", "reason")
	n := &Node{
		source: s, limits: newLimits(), numbers: newNumbers(), dropped: dropped, reasons: reasons(dropped),
		byCluster: byCluster{
			requests:     Counter("arke_requests_total", "cluster", "kind", "outcome"),
			took:         histogramOf("arke_request_duration_seconds", "cluster", "kind"),
			members:      Gauge("arke_members", "cluster", "kind"),
			running:      Gauge("arke_members_running", "cluster", "kind"),
			waiting:      Gauge("arke_members_waiting", "cluster", "kind"),
			waitingBytes: Gauge("arke_members_waiting_bytes", "cluster", "kind"),
			handled:      Counter("arke_handled_total", "cluster", "kind"),
			called:       Gauge("arke_called_members", "cluster", "kind"),
			beyond:       Gauge("arke_clusters_beyond_cap"),
		},
		traffic: traffic{
			info:  Gauge("arke_info", "name", "network", "peer", "zone"),
			ready: Gauge("arke_ready"),
			seeds: Gauge("arke_seeds", "state"),
			links: Gauge("arke_links", "state"),
			rtt:   Gauge("arke_link_rtt_seconds"),
			sent:  Counter("arke_sent_bytes_total", "lane"), queued: Gauge("arke_queued_bytes", "lane"),
		},
	}
	for o := range n.outcomes {
		value := patterns.Outcome(o).String()
		n.outcomes[o] = &dto.LabelPair{Name: n.requests.labels[2], Value: &value}
	}
	return n
}

func reasons(f Family) (all []reason) {
	for _, l := range []struct {
		layer string
		names []string
	}{
		{"p2p", p2p.CounterNames()},
		{"overlay", overlay.DropNames()},
		{"cluster", clusterlayer.DropNames()},
		{"request", request.DropNames()},
		{"pubsub", pubsub.DropNames()},
		{"inbox", inbox.DropNames()},
		{"tunnel", tunnel.DropNames()},
	} {
		for _, name := range l.names {
			all = append(all, reason{l.layer, name, l.layer + "." + name, f.pairs(l.layer, name)})
		}
	}
	return all
}

// Describe implements prometheus.Collector.
func (n *Node) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range n.numbers.families() {
		ch <- f.desc
	}
	c, t := n.byCluster, n.traffic
	for _, f := range []Family{
		c.requests, c.took, c.members, c.running, c.waiting, c.waitingBytes, c.handled, c.called, c.beyond,
		t.info, t.ready, t.seeds, t.links, t.rtt, t.sent, t.queued, n.dropped,
	} {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (n *Node) Collect(ch chan<- prometheus.Metric) {
	s, p := n.source.Status(), &page{to: ch}
	for _, each := range n.numbers {
		p.put(each.family, each.read(&s), nil)
	}
	ch <- n.info.Of(1, s.Name, s.Network, s.Peer, s.Zone)
	p.put(n.ready, truth(n.source.Ready() == nil), nil)
	n.collectLinks(ch, &s)
	n.collectDrops(p, &s)
	labels := labelsOf{of: n.members, known: make(map[string]*clusterLabels, max(len(s.Queues), len(s.Watches)))}
	beyond := n.collectCalls(p, labels)
	beyond = max(beyond, n.collectMembers(p, labels, s.Queues), n.collectWatches(p, labels, s.Watches))
	p.put(n.beyond, float64(beyond), nil)
}

// labelsOf are the labels cluster and kind of each cluster, once.
type labelsOf struct {
	of    Family // one with these labels
	known map[string]*clusterLabels
}

// clusterLabels are those of one cluster, in one piece of memory.
type clusterLabels struct {
	name, kind string
	pairs      [2]dto.LabelPair
	list       [2]*dto.LabelPair
}

func (l labelsOf) cluster(name, kind string) []*dto.LabelPair {
	c := l.known[name]
	if c == nil || c.kind != kind {
		c = &clusterLabels{name: name, kind: kind}
		c.pairs[0].Name, c.pairs[0].Value = l.of.labels[0], &c.name
		c.pairs[1].Name, c.pairs[1].Value = l.of.labels[1], &c.kind
		c.list = [...]*dto.LabelPair{&c.pairs[0], &c.pairs[1]}
		l.known[name] = c
	}
	return c.list[:]
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (n *Node) collectLinks(ch chan<- prometheus.Metric, s *node.Status) {
	seeds := map[string]int{"trying": 0, "reached": 0, "self": 0, "failing": 0}
	for _, each := range s.Seeds {
		seeds[each.State]++
	}
	for state, count := range seeds {
		ch <- n.seeds.Of(float64(count), state)
	}
	states := map[string]int{"up": 0, "suspect": 0, "opening": 0}
	var worst time.Duration
	for _, l := range s.Links {
		states[l.State]++
		if l.State == "up" {
			worst = max(worst, l.RTT)
		}
	}
	for state, count := range states {
		ch <- n.links.Of(float64(count), state)
	}
	ch <- n.rtt.Of(worst.Seconds())
	for lane := range s.SentBytes {
		name := overlay.Lane(lane).String()
		ch <- n.sent.Of(float64(s.SentBytes[lane]), name)
		ch <- n.queued.Of(float64(s.QueuedBytes[lane]), name)
	}
}

func (n *Node) collectDrops(p *page, s *node.Status) {
	for _, r := range n.reasons {
		count := s.Drops[r.key]
		if r.layer == "inbox" {
			count = s.Topics.Inboxes.Drops[r.name]
		}
		p.put(n.dropped, float64(count), r.labels)
	}
}

// collectCalls tells how requests ended, by cluster.
func (n *Node) collectCalls(p *page, labels labelsOf) (beyond int) {
	for _, l := range n.source.Ledgers() {
		kind := kindOf(l.Cluster)
		if l.Other {
			kind, beyond = request.OtherClusters, 1 // at least: nobody remembers their names
		}
		of := labels.cluster(l.Cluster, kind)
		answered := false
		for o := range patterns.Outcome(patterns.OutcomeCount) {
			if count := l.Outcome(o); count > 0 {
				p.put(n.requests, float64(count), p.with(of, n.outcomes[o]))
				answered = answered || o == patterns.OutcomeReply || o == patterns.OutcomeRemoteError
			}
		}
		if answered {
			p.to <- &durations{of: n.took, labels: of, from: l, limits: n.limits}
		}
	}
	return beyond
}

// load is what the members of one cluster do.
type load struct {
	members, running, waiting, bytes int
	handled                          uint64
}

// collectMembers tells what members do, by cluster. The queues are sorted by it.
func (n *Node) collectMembers(p *page, labels labelsOf, queues []request.MemberStatus) (beyond int) {
	tell := func(l load, of []*dto.LabelPair) {
		p.put(n.members, float64(l.members), of)
		p.put(n.running, float64(l.running), of)
		p.put(n.waiting, float64(l.waiting), of)
		p.put(n.waitingBytes, float64(l.bytes), of)
		p.put(n.handled, float64(l.handled), of)
	}
	var rest load
	for told := 0; len(queues) > 0; told++ {
		name := queues[0].Cluster
		var own load
		to := &own
		if told >= MaxClusters {
			to = &rest
			beyond++
		}
		for len(queues) > 0 && queues[0].Cluster == name {
			q := queues[0]
			to.members, to.running, to.waiting, to.bytes, to.handled = to.members+1, to.running+q.Running, to.waiting+q.Waiting, to.bytes+q.Bytes, to.handled+q.Handled
			queues = queues[1:]
		}
		if to != &rest {
			tell(own, labels.cluster(name, kindOf(name)))
		}
	}
	if beyond > 0 {
		tell(rest, labels.cluster(request.OtherClusters, request.OtherClusters))
	}
	return beyond
}

// collectWatches tells how many members each cluster has that is called from here.
func (n *Node) collectWatches(p *page, labels labelsOf, watches []clusterlayer.WatchedStatus) (beyond int) {
	rest := 0
	for i, w := range watches {
		if i >= MaxClusters {
			rest += w.Members
			continue
		}
		p.put(n.called, float64(w.Members), labels.cluster(w.Cluster, kindOf(w.Cluster)))
	}
	if beyond = len(watches) - MaxClusters; beyond > 0 {
		p.put(n.called, float64(rest), labels.cluster(request.OtherClusters, request.OtherClusters))
	}
	return max(beyond, 0)
}

// kindOf tells clusters of programs from those that Arke keeps for itself.
func kindOf(cluster string) string {
	if strings.HasPrefix(cluster, pubsub.Prefix) {
		return "topic"
	}
	return "service"
}

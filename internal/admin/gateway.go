// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/scrape"
)

// Gateway is what is watched of a gateway: *gateway.Gateway.
type Gateway interface {
	Status() gateway.Status
	Ready() error
}

var _ Gateway = (*gateway.Gateway)(nil)

// describeGateway is what /status.json shows of a gateway.
func describeGateway(g Gateway) []byte {
	b, err := json.Marshal(g.Status())
	if err != nil {
		panic("BUG: a gateway's status has no JSON: " + err.Error())
	}
	return b
}

// gatewayCollector shows what crosses. Crossings are those of the configuration, so
// their names are few.
type gatewayCollector struct {
	gateway                                        Gateway
	lent, messages, bytes, inFlight, tunnels, trip scrape.Family
	refused                                        scrape.Family

	topicLent, topicMessages, topicBytes, topicMissed, topicRefused scrape.Family
}

func newGatewayCollector(g Gateway) *gatewayCollector {
	of := []string{"cluster", "from", "to"}
	return &gatewayCollector{
		gateway:  g,
		lent:     scrape.Gauge("arke_gateway_lent", of...),
		messages: scrape.Counter("arke_gateway_messages_total", of...),
		bytes:    scrape.Counter("arke_gateway_bytes_total", of...),
		inFlight: scrape.Gauge("arke_gateway_in_flight", of...),
		tunnels:  scrape.Gauge("arke_gateway_tunnels", of...),
		trip:     scrape.Gauge("arke_gateway_round_trip_seconds", of...),
		refused:  scrape.Counter("arke_gateway_refused_total", "cluster", "from", "reason", "to"),

		topicLent:     scrape.Gauge("arke_gateway_topic_lent", "from", "to", "topic"),
		topicMessages: scrape.Counter("arke_gateway_topic_messages_total", "from", "to", "topic"),
		topicBytes:    scrape.Counter("arke_gateway_topic_bytes_total", "from", "to", "topic"),
		topicMissed:   scrape.Counter("arke_gateway_topic_missed_total", "from", "to", "topic"),
		topicRefused:  scrape.Counter("arke_gateway_topic_refused_total", "from", "reason", "to", "topic"),
	}
}

// Describe implements prometheus.Collector.
func (c *gatewayCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *gatewayCollector) Collect(ch chan<- prometheus.Metric) {
	status := c.gateway.Status()
	for i := range status.Topics {
		c.collectTopic(ch, &status.Topics[i])
	}
	for _, x := range status.Patterns {
		for _, reason := range slices.Sorted(maps.Keys(x.Refused)) {
			ch <- c.refused.Of(float64(x.Refused[reason]), x.As, x.From, reason, x.To)
		}
	}
	for _, x := range status.Crossings {
		lent := 0.0
		if x.Lent {
			lent = 1
		}
		ch <- c.lent.Of(lent, x.As, x.From, x.To)
		ch <- c.messages.Of(float64(x.Messages), x.As, x.From, x.To)
		ch <- c.bytes.Of(float64(x.Bytes), x.As, x.From, x.To)
		ch <- c.inFlight.Of(float64(x.InFlight), x.As, x.From, x.To)
		ch <- c.tunnels.Of(float64(x.Tunnels), x.As, x.From, x.To)
		ch <- c.trip.Of(x.RoundTrip.Seconds(), x.As, x.From, x.To)
		for _, reason := range slices.Sorted(maps.Keys(x.Refused)) {
			ch <- c.refused.Of(float64(x.Refused[reason]), x.As, x.From, reason, x.To)
		}
	}
}

func (c *gatewayCollector) collectTopic(ch chan<- prometheus.Metric, x *gateway.TopicStatus) {
	lent := 0.0
	if x.Lent {
		lent = 1
	}
	ch <- c.topicLent.Of(lent, x.From, x.To, x.As)
	ch <- c.topicMessages.Of(float64(x.Messages), x.From, x.To, x.As)
	ch <- c.topicBytes.Of(float64(x.Bytes), x.From, x.To, x.As)
	ch <- c.topicMissed.Of(float64(x.Missed), x.From, x.To, x.As)
	for _, reason := range slices.Sorted(maps.Keys(x.Refused)) {
		ch <- c.topicRefused.Of(float64(x.Refused[reason]), x.From, reason, x.To, x.As)
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bufio"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/arke-mesh/arke/internal/scrape"
	"github.com/arke-mesh/arke/relay"
)

// metrics answers /metrics. (promhttp would link compressors that nothing else
// here needs, for the same few lines.)
type metrics struct {
	gatherer prometheus.Gatherer
	busy     atomic.Bool
	refused  atomic.Uint64
	refusals scrape.Family
}

func newMetrics(c Config) (*metrics, error) {
	r, err := registry(c)
	if err != nil {
		return nil, err
	}
	m := &metrics{gatherer: r, refusals: scrape.Counter("arke_scrapes_refused_total")}
	return m, r.Register(m)
}

// ServeHTTP implements http.Handler.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.busy.CompareAndSwap(false, true) {
		m.refused.Add(1)
		answer(w, http.StatusServiceUnavailable, "somebody else is being answered: ask again")
		return
	}
	families, err := m.gatherer.Gather()
	m.busy.Store(false)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	format := expfmt.Negotiate(r.Header)
	w.Header().Set("Content-Type", string(format))
	out := bufio.NewWriterSize(w, 32<<10)
	enc := expfmt.NewEncoder(out, format)
	for _, f := range families {
		if enc.Encode(f) != nil {
			return // whoever asked has gone
		}
	}
	if closer, ok := enc.(expfmt.Closer); ok {
		_ = closer.Close() // writes the end of OpenMetrics
	}
	_ = out.Flush()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.refusals.Of(0).Desc() }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	ch <- m.refusals.Of(float64(m.refused.Load()))
}

// relayCollector collects what a relay counts.
type relayCollector struct {
	relay                                                         Relay
	sessions, clients, away, silent, requests, deliveries, queued scrape.Family
	dropped                                                       scrape.Family
	reasons                                                       []string
}

func newRelayCollector(r Relay) *relayCollector {
	return &relayCollector{
		relay:      r,
		sessions:   scrape.Counter("arke_relay_sessions_total"),
		clients:    scrape.Gauge("arke_relay_clients"),
		away:       scrape.Gauge("arke_relay_clients_away"),
		silent:     scrape.Gauge("arke_relay_clients_silent"),
		requests:   scrape.Gauge("arke_relay_client_requests"),
		deliveries: scrape.Gauge("arke_relay_client_deliveries"),
		queued:     scrape.Gauge("arke_relay_client_queued_bytes"),
		dropped:    scrape.Counter("arke_dropped_total", "layer", "reason"),
		reasons:    relay.DropNames(),
	}
}

// Describe implements prometheus.Collector: nothing, because arke_dropped_total is
// the node's, too.
func (*relayCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *relayCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.relay.Status()
	var away, silent, requests, deliveries, queued int
	for _, each := range s.Clients {
		requests, deliveries, queued = requests+each.Requests, deliveries+each.Deliveries, queued+each.Queued
		if each.Away {
			away++
		}
		if each.Silent {
			silent++
		}
	}
	ch <- c.sessions.Of(float64(s.Sessions))
	ch <- c.clients.Of(float64(len(s.Clients)))
	ch <- c.away.Of(float64(away))
	ch <- c.silent.Of(float64(silent))
	ch <- c.requests.Of(float64(requests))
	ch <- c.deliveries.Of(float64(deliveries))
	ch <- c.queued.Of(float64(queued))
	for _, reason := range c.reasons {
		ch <- c.dropped.Of(float64(s.Drops[reason]), "relay", reason)
	}
}

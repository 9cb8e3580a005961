// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/arke-mesh/arke/internal/scrape"
)

// Collector shows the metrics of one node to Prometheus. The zero value is ready: it
// shows nothing until Join has been called with MeasuredBy. docs/metrics.md says what
// each metric means. It may be used concurrently.
//
//	var metrics node.Collector
//	conn, err := node.Join(ctx, node.NetworkFile("prod.arke"), node.MeasuredBy(&metrics))
//	prometheus.MustRegister(&metrics)
type Collector struct{ node atomic.Pointer[scrape.Node] }

var _ prometheus.Collector = (*Collector)(nil)

// Describe implements prometheus.Collector. It describes nothing: what there is can
// only be told when there is a node.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	if n := c.node.Load(); n != nil {
		n.Collect(to)
	}
}

// MeasuredBy makes the collector show the node's metrics. Nothing is measured for
// it: what the node counts anyway is read when somebody asks. A collector shows the
// node that was joined last.
func MeasuredBy(c *Collector) JoinOption {
	return func(j *joining) { j.collector = c }
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package scrape shows a node to Prometheus. It counts nothing: what is counted
// anyway is read when somebody asks, so that nothing is paid between two scrapes.
//
// # Names and labels
//
// Names follow Prometheus' conventions: arke_ before all, _total behind counters,
// seconds and bytes as units. Their meaning is in package meaning. The label
// "cluster" has at most [MaxClusters] values for each metric; what is beyond is
// added up under "other". Histograms are native and classic at once: one that can
// read the first kind does not need the second, and leaves it out.
//
// # Data path
//
//  1. A registry calls [Node].Collect, which reads the node's status and ledgers.
//  2. Each value becomes a sample: a prometheus.Metric that holds the number and
//     its labels, and nothing else.
//  3. The registry has them written.
//
// It has no goroutine.
package scrape

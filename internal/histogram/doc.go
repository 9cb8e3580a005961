// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package histogram counts durations in buckets that grow by a fixed factor, for
// the metrics of hot paths.
//
// Its buckets are those of a Prometheus native histogram of schema 2: each is
// 2^(1/4), 19 %, wider than the one before, between 1 µs and 64 s; what is shorter
// or longer falls into the first or the last. Classic buckets are sums of these, so
// that both come from one count. See
// https://prometheus.io/docs/specs/native_histograms/.
//
// To observe costs two atomic additions and a look at four bounds, and no
// allocation; nothing is added up before somebody reads. A histogram has 856 bytes.
//
// # Data path
//
//  1. Whoever measures calls Observe, on whatever goroutine it is.
//  2. Whoever is asked for metrics calls Read, with a Snapshot that it may use again.
package histogram

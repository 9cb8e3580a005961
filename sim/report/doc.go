// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package report, an inner part of Arke that makes no promise to users, turns a
// run into something to read: JSON for programs, a page for people, and a
// summary of many seeds.
//
// It judges nothing (package check does) and runs nothing. It is pure: equal
// input gives equal bytes. It starts no goroutines. A Report may be used by
// several goroutines once New has returned, as long as nobody changes it or its
// history.
//
// # From a run to a page
//
//  1. New takes what the runner knows (Info), the scenario, the history and
//     the verdict, and sums the history up: outcomes, percentiles for each
//     workload, requests for each member.
//  2. WriteJSON writes that sum, but not the history.
//  3. WriteHTML goes through the history once more, sums it up by time (at most
//     160 columns) into one drawing (drawing.go): charts of rows on one axis of
//     time. It is written into the page as JSON, and the page's script
//     (page/page.js, with uPlot) draws it: latency with the faults above it,
//     what subscriptions got, what tunnels carried, requests per member, lives
//     and lanes of nodes, and how right the views were. The tables are in
//     the page itself (sections.go). A page has at most 40 nodes and 30 members one
//     by one, those that faults hit most directly first, so that its size does
//     not grow with the run's: 1,000 nodes and 200,000 requests make less than
//     half a MB.
//  4. Summarize takes the reports of several seeds; it needs no history.
//
// # JSON
//
// One object on one line. The field "schema" is 1; fields may be added under
// the same number, none changes its name, unit or meaning. Units are in the
// names: _seconds (since the run began, or a length), _ms, _bytes. What can't
// be measured is absent from maps, and 0 in a latency whose count is 0.
//
//	schema name about ok error started judged
//	level seed commit go_version host trace_hash replay
//	events events_per_second virtual_seconds real_seconds virtual_per_real memory_peak_bytes
//	start_seconds safety_seconds end_seconds
//	nodes lives requests caller_lost
//	outcomes       {reply, refused, no_members, …, none}: counts; none = a request without an outcome
//	works          [{work, requests, caller_lost, outcomes, retried, attempts_max,
//	               latency, latency_calm, latency_fault: {count, p50_ms, p90_ms, p99_ms, p999_ms, max_ms}}]
//	members        [{cluster, node, tenures, requests, share}]
//	assertions     [{text, kind, value, reason, ok}]
//	violations     [{checker, at_seconds, text}]
//	metrics        {name: {value, unit, samples}}
//	faults         [{at_seconds, until_seconds, do, nodes, text}]
//	checkpoints    [the running hash after each 1,000 events]
//
// Requests whose own caller was stopped, lost or paused meanwhile are in
// caller_lost and nowhere else. The probes of the liveness phase are in works
// as "probe", and in "all"; the metrics, which are package check's, leave them
// out. "Calm" are requests as for the metric
// latency_calm.
//
// A summary has schema, name, level, commit, ok, seeds, outcomes,
// virtual_seconds, real_seconds, failed [{seed, reasons, replay}], metrics
// {name: {unit, runs, min, p50, p99, max, min_seed, max_seed}} and runs [{seed,
// ok, trace_hash, requests, real_seconds}].
//
// # The page
//
// One file that needs no other and no network; its content security policy
// would not let it. Every colour has a text or a pattern beside it, dark mode
// and paper are served. Without its script it has its tables, which say
// everything but when. The chart library, uPlot, is checked in unchanged with
// its licence (page/uplot).
package report

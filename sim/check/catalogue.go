// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "slices"

// MetricInfo describes a metric.
type MetricInfo struct {
	Name    string `json:"name"`
	Unit    Unit   `json:"unit"`
	Meaning string `json:"meaning"`
}

// Metrics describes every metric there is, in an order for people. The caller
// owns the result.
func Metrics() []MetricInfo {
	return slices.Concat(
		requestMetrics(), latencyMetrics(), failoverMetrics(), viewMetrics(),
		resourceMetrics(), faultMetrics(), memberMetrics(),
	)
}

func lookup(name string) (MetricInfo, bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return MetricInfo{}, false
}

func requestMetrics() []MetricInfo {
	return []MetricInfo{
		{"requests", Count, "requests of the workload and of floods; without the probes of the liveness phase, and without those whose deadline is after the end of the run"},
		{"excused", Count, "requests whose caller's own node was stopped, lost or paused meanwhile; no other count of requests includes them"},
		{"replies", Count, "requests that ended in a reply"},
		{"refused", Count, "requests that the handler refused"},
		{"lost", Count, "requests that ended neither in a reply nor in a handler's refusal"},
		{"success", Percent, "replies and refusals, of all requests that are not excused"},
		{"unanswered", Count, "requests that never ended although their deadline passed"},
		{"duplicated", Count, "requests that were handled more often than allowed: twice, or for an idempotent one twice by the same member or more often than attempted"},
		{"retried", Count, "requests that needed more than one attempt"},
		{"attempts_max", Count, "attempts of the request that needed most"},
		{"no_members", Count, "requests that ended so"},
		{"overloaded", Count, "requests that ended so"},
		{"unreachable", Count, "requests that ended so"},
		{"interrupted", Count, "requests that ended so"},
		{"deadline", Count, "requests that ended so"},
		{"canceled", Count, "requests that ended so"},
		{"unauthorized", Count, "requests that ended so"},
		{"too_large", Count, "requests that ended so"},
		{"closed", Count, "requests that ended so"},
		{"wrong_reply", Count, "requests that got the reply of another one"},
		{"other", Count, "requests that ended with an error that none of the outcomes has"},
		{"false_empty", Count, "requests that were told no_members although a healthy, reachable member was registered long enough"},
		{"handled", Count, "calls of handlers for these requests"},
		{"probes", Count, "probes of the liveness phase whose caller was not hit"},
		{"probes_lost", Count, "of them, those that ended neither in a reply nor in a handler's refusal"},
		{"late_max", Millis, "how long after its deadline a request ended, at most; 0 if none did"},
	}
}

func latencyMetrics() []MetricInfo {
	return slices.Concat(
		quantiles("latency", "time from a request to its reply"),
		quantiles("latency_calm", "the same, while no fault stood or had ended within the convergence bound"),
		quantiles("latency_fault", "the same, while a fault stood or had ended within the convergence bound"),
	)
}

func failoverMetrics() []MetricInfo {
	return slices.Concat(
		quantiles("detection", "time from a crash or silence until an observer that saw the member live no longer did; one sample for each member and undisturbed observer"),
		[]MetricInfo{{"detections", Count, "samples of the detection time"}},
		quantiles("reroute", "time from a crash, silence or stop until a caller's last affected request ended; one sample for each fault and caller with affected requests"),
		[]MetricInfo{{"affected", Count, "requests to a cluster that lost a member, under way at the fault or sent before the caller noticed, that needed more than one attempt or were lost"}},
	)
}

func viewMetrics() []MetricInfo {
	return slices.Concat(
		quantiles("convergence", "time from a fault of nodes, or from the end of a fault of links, until the views that it made wrong were right again; one sample for each such fault"),
		[]MetricInfo{
			{"convergence_last", Millis, "time from the last fault, or its end, until the last moment at which the view of a correct observer was wrong; 0 if none was"},
			{"zombie_max", Millis, "the longest that an undisturbed observer showed a dead member as live"},
			{"false_suspicions", Count, "times that an undisturbed observer showed a healthy, reachable member as suspect or unreachable"},
			{"false_evictions", Count, "times that a healthy, reachable member left the view of an undisturbed observer"},
			{"members_lost_for_good", Count, "members that live at the end and are missing from the view of a correct observer"},
			{"observers", Count, "nodes that observed a cluster, counted for each cluster and life of the node"},
		},
	)
}

func resourceMetrics() []MetricInfo {
	return []MetricInfo{
		{"control_bytes_per_node_s", BytesSec, "bytes that a node sent on lane ctl per second, on average over all nodes, between the start of the workload and the end of the safety phase"},
		{"sent_ctl", Bytes, "bytes sent on lane ctl by all nodes"},
		{"sent_rpc", Bytes, "bytes sent on lane rpc by all nodes"},
		{"sent_pub", Bytes, "bytes sent on lane pub by all nodes"},
		{"sent_bulk", Bytes, "bytes sent on lane bulk by all nodes"},
		{"queue_max", Bytes, "bytes that waited in a node's lanes at most"},
		{"waiting_max", Count, "requests that waited at a node at most"},
		{"running_max", Count, "handlers that ran at a node at most"},
		{"links_max", Count, "links of the node that had most"},
		{"leases_max", Count, "leases that a node held as an anchor at most"},
	}
}

func faultMetrics() []MetricInfo {
	list := []MetricInfo{{"faults", Count, "primitive faults of the timeline, without what only undoes one"}}
	for _, k := range faultKinds() {
		list = append(list, MetricInfo{k.metric, Count, "faults: " + k.meaning})
	}
	return list
}

func memberMetrics() []MetricInfo {
	return []MetricInfo{
		{"members", Count, "registrations that were acknowledged"},
		{"registrations_failed", Count, "registrations that failed on a node that lived on"},
		{"serve_p50", Millis, "time from a node's start until its member was acknowledged, median"},
		{"serve_p99", Millis, "the same, 99 of 100 were faster"},
		{"serve_max", Millis, "the same, the slowest"},
		{"register_p50", Millis, "time of a registration, median"},
		{"register_p99", Millis, "the same, 99 of 100 were faster"},
		{"register_max", Millis, "the same, the slowest"},
		{"balance", Ratio, "requests of the busiest member by their mean, among the members of a cluster that served from start to end and were not slowed; of the worst cluster"},
		{"slow_share", Percent, "of its cluster's requests, what a slowed member handled while it was slow; of the busiest such member"},
	}
}

func quantiles(name, meaning string) []MetricInfo {
	return []MetricInfo{
		{name + "_p50", Millis, meaning + ": median"},
		{name + "_p90", Millis, meaning + ": 90 of 100 were faster"},
		{name + "_p99", Millis, meaning + ": 99 of 100 were faster"},
		{name + "_max", Millis, meaning + ": the slowest"},
	}
}

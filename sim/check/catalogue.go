// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "slices"

// MetricInfo describes a metric. One that is PerWork is also measured for each
// work of the workload: "lost{idem}" counts like "lost", but only requests of
// the work "idem".
type MetricInfo struct {
	Name    string `json:"name"`
	Unit    Unit   `json:"unit"`
	Meaning string `json:"meaning"`
	PerWork bool   `json:"per_work,omitempty"`
}

// Metrics describes every metric there is, in an order for people. The caller
// owns the result.
func Metrics() []MetricInfo {
	return slices.Concat(
		requestMetrics(), goodputMetrics(), latencyMetrics(), failoverMetrics(), viewMetrics(),
		resourceMetrics(), faultMetrics(), memberMetrics(), manyMetrics(), topicMetrics(), copyMetrics(), tunnelMetrics(), crossingMetrics(), hopMetrics(),
	)
}

// named is the name of a metric for one work, or for all if work is "".
func named(metric, work string) string {
	if work == "" {
		return metric
	}
	return metric + "{" + work + "}"
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
	return perWork([]MetricInfo{
		{Name: "requests", Unit: Count, Meaning: "requests, pushes, surveys and broadcasts of the workload and of floods; without the probes of the liveness phase, and without those whose deadline is after the end of the run"},
		{Name: "excused", Unit: Count, Meaning: "requests whose caller's own node was stopped, lost or paused meanwhile; of the other counts, only requests, handled and duplicated include them"},
		{Name: "replies", Unit: Count, Meaning: "requests that ended in a reply"},
		{Name: "refused", Unit: Count, Meaning: "requests that the handler refused"},
		{Name: "accepted", Unit: Count, Meaning: "pushes that a member's queue took"},
		{Name: "complete", Unit: Count, Meaning: "surveys and broadcasts that ended complete"},
		{Name: "partial", Unit: Count, Meaning: "surveys and broadcasts that asked somebody and did not end complete"},
		{Name: "lost", Unit: Count, Meaning: "requests that ended neither in a reply nor in a handler's refusal, pushes that were not accepted, surveys and broadcasts that reached nobody"},
		{Name: "success", Unit: Percent, Meaning: "replies, refusals, accepted pushes and complete surveys and broadcasts, of all that are not excused"},
		{Name: "unanswered", Unit: Count, Meaning: "requests that never ended although their deadline passed"},
		{Name: "duplicated", Unit: Count, Meaning: "requests that were handled more often than allowed: twice, or for an idempotent one twice by the same member while nothing disturbed it or the caller, or more often than attempted"},
		{Name: "retried", Unit: Count, Meaning: "requests that needed more than one attempt"},
		{Name: "attempts_max", Unit: Count, Meaning: "attempts of the request that needed most"},
		{Name: "no_members", Unit: Count, Meaning: "requests that ended so"},
		{Name: "overloaded", Unit: Count, Meaning: "requests that ended so"},
		{Name: "unreachable", Unit: Count, Meaning: "requests that ended so"},
		{Name: "interrupted", Unit: Count, Meaning: "requests that ended so"},
		{Name: "deadline", Unit: Count, Meaning: "requests that ended so"},
		{Name: "cancelled", Unit: Count, Meaning: "requests that ended so"},
		{Name: "unauthorized", Unit: Count, Meaning: "requests that ended so"},
		{Name: "too_large", Unit: Count, Meaning: "requests that ended so"},
		{Name: "closed", Unit: Count, Meaning: "requests that ended so"},
		{Name: "wrong_reply", Unit: Count, Meaning: "requests that got the reply of another one"},
		{Name: "other", Unit: Count, Meaning: "requests that ended with an error that none of the outcomes has"},
		{Name: "false_empty", Unit: Count, Meaning: "requests that were told no_members although a healthy, reachable member was registered long enough"},
		{Name: "handled", Unit: Count, Meaning: "calls of handlers for these requests"},
		{Name: "late_max", Unit: Millis, Meaning: "how long after its deadline a request ended, at most; 0 if none did"},
	}, []MetricInfo{
		{Name: "probes", Unit: Count, Meaning: "probes of the liveness phase whose caller was not hit"},
		{Name: "probes_lost", Unit: Count, Meaning: "of them, those that ended neither in a reply nor in a handler's refusal"},
	})
}

func latencyMetrics() []MetricInfo {
	return perWork(slices.Concat(
		quantiles("latency", "time from a request to its reply, from a push until it was accepted, or from a survey or a broadcast until it was complete"),
		quantiles("latency_calm", "the same, while no fault stood or had ended within the convergence bound"),
		quantiles("latency_fault", "the same, while a fault stood or had ended within the convergence bound"),
	), nil)
}

// perWork marks metrics as such, and appends others.
func perWork(list, others []MetricInfo) []MetricInfo {
	for i := range list {
		list[i].PerWork = true
	}
	return append(list, others...)
}

func failoverMetrics() []MetricInfo {
	return slices.Concat(
		quantiles("detection", "time from a crash or silence until an observer that saw the member live no longer did; one sample for each member and undisturbed observer"),
		[]MetricInfo{{Name: "detections", Unit: Count, Meaning: "samples of the detection time"}},
		perWork(slices.Concat(
			quantiles("reroute", "time from a crash, silence or stop until a caller's last affected request ended; one sample for each fault and caller with affected requests"),
			quantiles("misrouted", "time from a crash, silence or stop until a caller sent its last affected request, 0 if that was before; samples like reroute"),
			[]MetricInfo{{Name: "affected", Unit: Count, Meaning: "requests to a cluster that lost a member, under way at the fault or sent before the caller noticed, that needed more than one attempt or were lost"}},
		), nil),
	)
}

func viewMetrics() []MetricInfo {
	return slices.Concat(
		quantiles("seen", "time from the acknowledgement of a registration until an observer showed the member live; one sample for each member that came after the workload began, and undisturbed observer"),
		quantiles("convergence", "time from the loss or the return of a node, or from the end of a fault of links or a pause, until the views that it made wrong were right; one sample for each such event"),
		[]MetricInfo{
			{Name: "convergence_last", Unit: Millis, Meaning: "time from the last fault, its end, or the last start of a node until the last moment at which the view of a correct observer was wrong; 0 if none was"},
			{Name: "zombie_max", Unit: Millis, Meaning: "the longest that an undisturbed observer took a dead member to be alive"},
			{Name: "false_suspicions", Unit: Count, Meaning: "times that an undisturbed observer showed a healthy, reachable member as suspect or unreachable"},
			{Name: "false_evictions", Unit: Count, Meaning: "times that a healthy, reachable member left the view of an undisturbed observer"},
			{Name: "members_lost_for_good", Unit: Count, Meaning: "members that live at the end and are missing from the view of a correct observer"},
			{Name: "observers", Unit: Count, Meaning: "nodes that observed a cluster, counted for each cluster and life of the node"},
		},
	)
}

func resourceMetrics() []MetricInfo {
	return []MetricInfo{
		{Name: "control_bytes_per_node_s", Unit: BytesSec, Meaning: "bytes that a node sent on lane ctl per second, on average over all nodes, between the start of the workload and the end of the safety phase"},
		{Name: "sent_ctl", Unit: Bytes, Meaning: "bytes sent on lane ctl by all nodes"},
		{Name: "sent_rpc", Unit: Bytes, Meaning: "bytes sent on lane rpc by all nodes"},
		{Name: "sent_pub", Unit: Bytes, Meaning: "bytes sent on lane pub by all nodes"},
		{Name: "sent_bulk", Unit: Bytes, Meaning: "bytes sent on lane bulk by all nodes"},
		{Name: "queue_max", Unit: Bytes, Meaning: "bytes that waited in a node's lanes at most"},
		{Name: "waiting_max", Unit: Count, Meaning: "requests that waited at a node at most"},
		{Name: "running_max", Unit: Count, Meaning: "handlers that ran at a node at most"},
		{Name: "links_max", Unit: Count, Meaning: "links that stood, of the node that had most; a suspect one stands"},
		{Name: "held_max", Unit: Bytes, Meaning: "bytes that a relay held for one of its clients at most: what it had not sent to it, and what the client had not acknowledged"},
		{Name: "held_calm_max", Unit: Bytes, Meaning: "the same, of clients that nothing disturbed"},
		{Name: "leases_max", Unit: Count, Meaning: "leases that a node held as an anchor at most"},
	}
}

func faultMetrics() []MetricInfo {
	list := []MetricInfo{
		{Name: "faults", Unit: Count, Meaning: "primitive faults of the timeline, without what only undoes one"},
		{Name: "restarts", Unit: Count, Meaning: "nodes that came back with a new incarnation"},
		{Name: "adversaries", Unit: Count, Meaning: "nodes that did harm at some time; nothing is promised to them, and of all other metrics only handled, members and control_bytes_per_node_s count them"},
		{Name: "acts", Unit: Count, Meaning: "what adversaries did: lies, forgeries, repetitions, and things that others have to hold"},
		{Name: "starts", Unit: Count, Meaning: "nodes that were started for the first time after the workload had begun"},
	}
	for _, k := range faultKinds() {
		list = append(list, MetricInfo{Name: k.metric, Unit: Count, Meaning: "faults: " + k.meaning})
	}
	return list
}

func memberMetrics() []MetricInfo {
	return []MetricInfo{
		{Name: "members", Unit: Count, Meaning: "registrations that were acknowledged"},
		{Name: "registrations_failed", Unit: Count, Meaning: "registrations that failed on a node that lived on"},
		{Name: "serve_p50", Unit: Millis, Meaning: "time from a node's start until its member was acknowledged, median"},
		{Name: "serve_p99", Unit: Millis, Meaning: "the same, 99 of 100 were faster"},
		{Name: "serve_max", Unit: Millis, Meaning: "the same, the slowest"},
		{Name: "register_p50", Unit: Millis, Meaning: "time of a registration, median"},
		{Name: "register_p99", Unit: Millis, Meaning: "the same, 99 of 100 were faster"},
		{Name: "register_max", Unit: Millis, Meaning: "the same, the slowest"},
		{Name: "balance", Unit: Ratio, Meaning: "requests of the busiest member by their mean, among the members of a cluster that served from start to end and were not slowed; of the worst cluster"},
		{Name: "slow_share", Unit: Percent, Meaning: "of its cluster's requests, what a slowed member handled while it was slow; of the busiest such member"},
	}
}

func quantiles(name, meaning string) []MetricInfo {
	return []MetricInfo{
		{Name: name + "_p50", Unit: Millis, Meaning: meaning + ": median"},
		{Name: name + "_p90", Unit: Millis, Meaning: meaning + ": 90 of 100 were faster"},
		{Name: name + "_p99", Unit: Millis, Meaning: meaning + ": 99 of 100 were faster"},
		{Name: name + "_max", Unit: Millis, Meaning: meaning + ": the slowest"},
	}
}

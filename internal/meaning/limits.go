// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
)

// limits are the reasons that mean that there was no room for more, as they end. Whoever
// runs a node can do something about these: more members, larger limits, fewer programs.
// The others are mistakes, strangers, or what is late.
func limits() []string {
	return []string{
		"too_many", "too_many_bytes", "too_many_clients", ".share", "_share", "slow_client",
		"conn_limit", "stream_limit", "stream_backlog", "stranger_evicted", "handshake_evicted",
		"lane_full", "lane_full_ctl", "lane_full_rpc", "lane_full_pub", "lane_full_bulk",
		"reassembly_full", "handshake_full", "inbox_full", "refused_full", "refused_yielded",
		"queue_length", "queue_bytes", "no_time", "workers", "retry_budget", "survey_members",
		"pubsub.streams", "pubsub.forward", "path_refused", "pubsub.queues", "pubsub.subscriptions",
		"tunnel.tunnels", "buffer_bytes", "tunnel.open",
	}
}

// IsLimit says whether a reason of arke_dropped_total, "layer.reason", means that a limit
// was reached.
func IsLimit(reason string) bool {
	return slices.ContainsFunc(limits(), func(end string) bool { return strings.HasSuffix(reason, end) })
}

// OfReason is what a reason means, "" if it is unknown.
func OfReason(reason string) string {
	for _, e := range drops() {
		if e.Name == reason {
			return e.Means
		}
	}
	return ""
}

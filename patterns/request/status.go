// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

// MemberStatus describes one local member's queue.
type MemberStatus struct {
	Cluster  string `json:"cluster"`
	Member   string `json:"member"`
	Running  int    `json:"running"`       // handlers
	Waiting  int    `json:"waiting"`       // requests, and what else queues up
	Bytes    int    `json:"waiting_bytes"` // of bodies and headers
	Handled  uint64 `json:"handled"`       // handlers that have ended
	Accepted uint64 `json:"accepted"`      // pushes and broadcasts
	Draining bool   `json:"draining,omitempty"`
}

// CallStatus describes this node as a caller.
type CallStatus struct {
	Pending int    `json:"pending"` // attempts without an answer yet
	Sent    uint64 `json:"sent"`    // attempts
	Retried uint64 `json:"retried"` // of these, not the first of their request
}

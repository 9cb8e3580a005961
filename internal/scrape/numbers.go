// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"github.com/arke-mesh/arke/internal/node"
)

// number is a metric without labels.
type number struct {
	family Family
	read   func(*node.Status) float64
}

// numbers are all metrics of a node that have no labels.
type numbers []number

func newNumbers() numbers {
	count := func(name string, read func(*node.Status) uint64) number {
		return number{Counter(name), func(s *node.Status) float64 { return float64(read(s)) }}
	}
	gauge := func(name string, read func(*node.Status) int) number {
		return number{Gauge(name), func(s *node.Status) float64 { return float64(read(s)) }}
	}
	return numbers{
		{Gauge("arke_clock_ahead_seconds"), func(s *node.Status) float64 { return s.Clock.Ahead.Seconds() }},
		{Gauge("arke_clock_wrong"), func(s *node.Status) float64 { return truth(s.Clock.Err() != nil) }},
		{Gauge("arke_data_failing"), func(s *node.Status) float64 { return truth(s.Data != nil && s.Data.Error != "") }},
		{Gauge("arke_certificate_end_seconds"), func(s *node.Status) float64 {
			if s.Certificate.NotAfter.IsZero() {
				return 0
			}
			return float64(s.Certificate.NotAfter.Unix())
		}},
		{Gauge("arke_certificate_failing"), func(s *node.Status) float64 {
			return truth(s.Certificate.Fault != "" || s.Certificate.RenewalFault != "")
		}},
		count("arke_certificate_renewals_total", func(s *node.Status) uint64 { return s.Certificate.Renewals }),
		count("arke_certificates_renewed_total", func(s *node.Status) uint64 {
			if s.Certificate.Issuer == nil {
				return 0
			}
			return s.Certificate.Issuer.Renewed
		}),
		gauge("arke_attempts_pending", func(s *node.Status) int { return s.Requests.Pending }),
		count("arke_attempts_total", func(s *node.Status) uint64 { return s.Requests.Sent }),
		count("arke_attempts_retried_total", func(s *node.Status) uint64 { return s.Requests.Retried }),
		count("arke_surveys_total", func(s *node.Status) uint64 { return s.Surveys.Made }),
		count("arke_surveys_complete_total", func(s *node.Status) uint64 { return s.Surveys.Complete }),
		count("arke_survey_replies_total", func(s *node.Status) uint64 { return s.Surveys.Replies }),
		count("arke_survey_missing_total", func(s *node.Status) uint64 { return s.Surveys.Missing }),
		count("arke_pushes_accepted_total", func(s *node.Status) uint64 { return s.Pushes.Accepted }),
		count("arke_pushes_failed_total", func(s *node.Status) uint64 { return s.Pushes.Failed }),
		count("arke_broadcasts_total", func(s *node.Status) uint64 { return s.Broadcasts.Sent }),
		count("arke_broadcasts_complete_total", func(s *node.Status) uint64 { return s.Broadcasts.Complete }),
		count("arke_broadcast_accepted_total", func(s *node.Status) uint64 { return s.Broadcasts.Accepted }),
		count("arke_broadcast_missing_total", func(s *node.Status) uint64 { return s.Broadcasts.Missing }),
		gauge("arke_subscriptions", func(s *node.Status) int { return s.Topics.Subscriptions }),
		count("arke_published_total", func(s *node.Status) uint64 { return s.Topics.Published }),
		count("arke_publication_copies_total", func(s *node.Status) uint64 { return s.Topics.Copies }),
		count("arke_publications_received_total", func(s *node.Status) uint64 { return s.Topics.Received }),
		count("arke_publications_forwarded_total", func(s *node.Status) uint64 { return s.Topics.Forwarded }),
		count("arke_subscriber_panics_total", func(s *node.Status) uint64 { return s.Topics.Inboxes.Panics }),
		gauge("arke_tunnels_opened", func(s *node.Status) int { return s.Tunnels.Opened }),
		gauge("arke_tunnels_served", func(s *node.Status) int { return s.Tunnels.Served }),
		gauge("arke_tunnel_buffer_bytes", func(s *node.Status) int { return s.Tunnels.BufferBytes }),
		gauge("arke_peers", func(s *node.Status) int { return s.Peers }),
		count("arke_sent_frames_total", func(s *node.Status) uint64 { return s.SentFrames }),
		count("arke_received_bytes_total", func(s *node.Status) uint64 { return s.ReceivedBytes }),
		gauge("arke_anchor_clusters", func(s *node.Status) int { return s.Anchors.Clusters }),
		gauge("arke_anchor_leases", func(s *node.Status) int { return s.Anchors.Leases }),
		gauge("arke_anchor_watches", func(s *node.Status) int { return s.Anchors.Watches }),
	}
}

func (n numbers) families() (all []Family) {
	for _, each := range n {
		all = append(all, each.family)
	}
	return all
}

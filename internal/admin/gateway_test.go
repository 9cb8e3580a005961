// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/admin"
)

// border is a gateway that lends one cluster, and is not ready.
type border struct{}

func (border) Ready() error { return errors.New("not yet") }

func (border) Status() gateway.Status {
	return gateway.Status{Crossings: []gateway.CrossingStatus{{
		From: "eu", To: "us", Cluster: "geo", As: "geo", Lent: true, Messages: 7, Bytes: 70, InFlight: 2, Tunnels: 1,
		Refused: map[string]uint64{"in_flight_limit": 3}, RoundTrip: 80 * time.Millisecond,
	}}, Patterns: []gateway.PatternStatus{{
		From: "eu", To: "us", Cluster: "geo.*", As: "eu-geo.*", Clusters: 256, Refused: map[string]uint64{"clusters_limit": 9},
	}}, Topics: []gateway.TopicStatus{{
		From: "eu", To: "us", Topic: "quotes.*", As: "rates.*", Lent: true, Messages: 5, Missed: 4, Refused: map[string]uint64{"bytes_limit": 6},
	}}}
}

func TestAGatewayIsWatched(t *testing.T) {
	// This test asks for the pages of a gateway: its metrics, what it lends, and why it
	// is not ready.
	s, err := admin.Start(admin.Config{Address: "127.0.0.1:0", Gateway: border{}})
	require.NoError(t, err)
	defer s.Close()
	get := func(page string, status int) string {
		got, text := ask(t, s, http.MethodGet, page, nil)
		require.Equal(t, status, got)
		return text
	}
	require.Contains(t, get("/readyz", http.StatusServiceUnavailable), "not yet")
	require.Contains(t, get("/status.json", http.StatusOK), `"from":"eu","to":"us","cluster":"geo"`)
	text := get("/metrics", http.StatusOK)
	for _, want := range []string{
		`arke_gateway_lent{cluster="geo",from="eu",to="us"} 1`,
		`arke_gateway_messages_total{cluster="geo",from="eu",to="us"} 7`,
		`arke_gateway_refused_total{cluster="geo",from="eu",reason="in_flight_limit",to="us"} 3`,
		`arke_gateway_refused_total{cluster="eu-geo.*",from="eu",reason="clusters_limit",to="us"} 9`,
		`arke_gateway_topic_lent{from="eu",to="us",topic="rates.*"} 1`,
		`arke_gateway_topic_messages_total{from="eu",to="us",topic="rates.*"} 5`,
		`arke_gateway_topic_missed_total{from="eu",to="us",topic="rates.*"} 4`,
		`arke_gateway_topic_refused_total{from="eu",reason="bytes_limit",to="us",topic="rates.*"} 6`,
		`arke_gateway_round_trip_seconds{cluster="geo",from="eu",to="us"} 0.08`,
	} {
		require.Contains(t, text, want)
	}
}

// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsAreReasonsForWhichThereWasNoRoom(t *testing.T) {
	// This test checks that each ending in the list is that of a reason, and of some
	// reasons whether they are limits.
	for _, end := range limits() {
		require.True(t, slices.ContainsFunc(drops(), func(e Entry) bool { return strings.HasSuffix(e.Name, end) }), end)
	}
	for reason, is := range map[string]bool{
		"request.queue_length": true, "request.queue_bytes": true, "overlay.lane_full_rpc": true, "relay.request.share": true,
		"relay.refused.too_many_clients": true, "cluster.refused_full": true, "inbox.queue_length": true, "tunnel.open": true,
		"request.malformed": false, "request.expired": false, "p2p.stranger": false, "p2p.probes": false,
		"relay.call.not_allowed": false, "pubsub.gap": false, "tunnel.silent_opener": false,
	} {
		require.NotEmpty(t, OfReason(reason), reason)
		require.Equal(t, is, IsLimit(reason), reason)
	}
}

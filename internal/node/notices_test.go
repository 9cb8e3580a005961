// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/notice"
)

func TestTheLogSaysWhatNumbersShow(t *testing.T) {
	// This test checks the lines about limits, about being an anchor of many clusters,
	// and about the node's own addresses.
	n := &notices{anchor: notice.Many{From: manyClusters}}
	n.addrs.Step([]string{"/ip4/10.0.0.1/tcp/7400"})
	for i, step := range []struct {
		drops    map[string]uint64
		clusters int
		addr     string
		says     []string
	}{
		{nil, 3, "/ip4/10.0.0.1/tcp/7400", nil},
		{map[string]uint64{"request.queue_bytes": 1, "request.malformed": 1}, 3, "/ip4/10.0.0.1/tcp/7400", []string{"a limit is reached"}},
		{nil, 100, "/ip4/10.0.0.1/tcp/7400", []string{"this node has become an anchor of many clusters"}},
		{nil, 90, "/ip4/10.0.0.2/tcp/7400", []string{"the addresses of this node have changed"}},
		{nil, 49, "/ip4/10.0.0.2/tcp/7400", []string{"this node is no longer an anchor of many clusters"}},
	} {
		var says []string
		for _, l := range n.look(time.Unix(int64(i), 0), step.drops, AnchorStatus{Clusters: step.clusters}, []string{step.addr}) {
			says = append(says, l.Text)
		}
		require.Equal(t, step.says, says, "step %d", i)
	}
}
